// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A space of the host that counts what a method asks of it: passes, bytes, synchronisations. `sla::on(counting(counts))`.
#pragma once

#include <sla/exec/host.hpp>

namespace suite {
struct counts {
  int fuses = 0, passes = 0, synchronizations = 0, peeks = 0;
  sla::index_t bytes = 0;
};

template <bool Many>
class counting_space : public sla::host_space<Many> {
 public:
  counting_space(sla::frame f, counts& into) : sla::host_space<Many>(f), into_(into) {}

  template <class... S>
  void count(int passes, S const&... statements) {
    ++into_.fuses;
    into_.passes += passes;
    into_.bytes += sla::bytes_moved(statements...);
  }
  template <class T>
  auto peek(T const& s) {
    ++into_.peeks;
    return sla::host_space<Many>::peek(s);
  }
  void finish() { ++into_.synchronizations; }

 private:
  counts& into_;
};

/// Makes the space of a solve, for `on`.
template <bool Many>
auto counting(counts& into) {
  return [&into](sla::frame f) { return counting_space<Many>(f, into); };
}
}  // namespace suite
