// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parallel searching, counting and counting sort on the host: what assembly, conversion and transposition are made of.
// All results are independent of the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/tensor/format.hpp>
#include <sla/tensor/memory.hpp>

namespace sla::detail {

/// part(first, last) over a static partition of [0, n); the results are merged with `a.merge(b)` in order.
template <class R, class F>
R merged_ranges(index_t n, F const& part) {
  int const count = parallel_parts(n);
  std::vector<R> results(static_cast<std::size_t>(count));
  parallel(count, [&](int t) { results[std::size_t(t)] = part(n * t / count, n * (t + 1) / count); });
  for (std::size_t t = 1; t < results.size(); ++t) results[0].merge(results[t]);
  return results[0];
}

struct first_place {
  index_t at = -1;
  void merge(first_place const& later) { at = at < 0 ? later.at : at; }
};
/// The first k in [0, n) with holds(k), or -1.
template <class Predicate>
index_t first_where(index_t n, Predicate const& holds) {
  return merged_ranges<first_place>(n,
                                    [&](index_t lo, index_t hi) {
                                      for (index_t k = lo; k < hi; ++k)
                                        if (holds(k)) return first_place{k};
                                      return first_place{};
                                    })
      .at;
}

/// Row pointers from count(i), the entries of row i, which is called once per row. Errors: the sum does not fit into
/// Ptr.
template <class Ptr, class Count>
buffer<Ptr> row_pointers(index_t rows, Count const& count) {
  buffer<index_t> counts(rows, uninitialized);
  parallel_ranges(rows, [&, c = counts.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) c[i] = count(i);
  });
  index_t total = 0;
  for (index_t c : counts) total += c;
  narrowed<Ptr>(total, "the number of entries,", "Csr<std::int32_t, std::int64_t>");
  buffer<Ptr> row_ptr(rows + 1, uninitialized);
  Ptr* p = row_ptr.data();
  total = 0;
  for (index_t i = 0; i < rows; ++i) {
    p[i] = Ptr(total);
    total += counts[i];
  }
  p[rows] = Ptr(total);
  return row_ptr;
}

/// Stable counting sort. walk(first, last, f) calls f(bucket, item...) for each thing of [first, last) in order;
/// place(position, item...) receives each thing's position. Returns the begin of each bucket, and the end.
/// Cost: O(n + buckets) time; a histogram per part, of n numbers or less together.
template <class Walk, class Place>
buffer<index_t> counting_sort(index_t n, index_t weight, index_t buckets, Walk const& walk, Place const& place) {
  index_t const affordable = (std::max)(index_t(1), weight / (buckets + 1));
  int const parts = int((std::min)(affordable, index_t(parallel_parts(weight))));
  buffer<index_t> histogram(parts * buckets);
  buffer<index_t> begin(buckets + 1, uninitialized);
  index_t* const counts = histogram.data();
  auto each_part = [&](auto const& visit) {
    parallel(parts, [&](int t) { visit(n * t / parts, n * (t + 1) / parts, counts + t * buckets); });
  };
  each_part(
      [&](index_t lo, index_t hi, index_t* count) { walk(lo, hi, [&](index_t bucket, auto...) { ++count[bucket]; }); });
  index_t total = 0;
  for (index_t k = 0; k < buckets; ++k) {
    begin.data()[k] = total;
    for (int t = 0; t < parts; ++t) {
      index_t const here = counts[t * buckets + k];
      counts[t * buckets + k] = total;
      total += here;
    }
  }
  begin.data()[buckets] = total;
  each_part([&](index_t lo, index_t hi, index_t* next) {
    walk(lo, hi, [&](index_t bucket, auto... item) { place(next[bucket]++, item...); });
  });
  return begin;
}

} // namespace sla::detail
