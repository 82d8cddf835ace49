// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine's memory bandwidth as the triad a = b + s c measures it: 24 bytes per element, write-allocation not counted.
#pragma once

#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/parallel.hpp>

#include "table.hpp"

namespace bench {

/// Three arrays of four times the last-level cache each (at least 64 MiB), walked by the threads in use.
/// Source: McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers (1995).
class triad {
 public:
  triad() : a_(count()), b_(sla::ones<double>(count())), c_(sla::ones<double>(count())) {}

  void operator()() const {
    sla::parallel_ranges(a_.size(), [a = a_.data(), b = b_.data(), c = c_.data()](sla::index_t first, sla::index_t last) {
      constexpr sla::index_t step = 256;
      sla::index_t n = first;
      for (; n + step <= last; n += step)
        for (sla::index_t k = 0; k < step; ++k) a[n + k] = b[n + k] + 3.0 * c[n + k];
      for (; n < last; ++n) a[n] = b[n] + 3.0 * c[n];
    });
  }
  double bytes() const { return 24.0 * double(a_.size()); }

 private:
  static sla::index_t count() { return sla::index_t((std::max)(4 * last_level_cache(), 64.0 * (1 << 20)) / 8); }
  mutable sla::vector<double> a_;
  sla::vector<double> b_, c_;
};

}  // namespace bench
