// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parallel searching, counting and counting sort on the host: what assembly, conversion and transposition are made of.
// All results are independent of the number of threads.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/tensor/storage/format.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla::detail {

/// part(first, last) over a static partition of [0, n); the results are merged with `a.merge(b)` in order.
template <class R, class F>
R merged_ranges(index_t n, F const& part, index_t least = serial_below) {
  int const count = parallel_parts(n, least);
  std::vector<R> results(static_cast<std::size_t>(count));
  parallel(count, [&](int t) { results[std::size_t(t)] = part(n * t / count, n * (t + 1) / count); });
  for (std::size_t t = 1; t < results.size(); ++t) results[0].merge(results[t]);
  return results[0];
}

struct first_place {
  index_t at = -1;
  void merge(first_place const& later) { at = at < 0 ? later.at : at; }
};
template <class = void>
index_t first_of_ranges(index_t n, index_t least, index_t (*first_in)(void const*, index_t, index_t), void const* holds) {
  return merged_ranges<first_place>(n, [=](index_t lo, index_t hi) { return first_place{first_in(holds, lo, hi)}; }, least).at;
}
/// The first k in [0, n) with holds(k), or -1.
template <class Predicate>
index_t first_where(index_t n, Predicate const& holds, index_t least = serial_below) {
  auto const first_in = [](void const* h, index_t lo, index_t hi) {
    for (index_t k = lo; k < hi; ++k)
      if ((*static_cast<Predicate const*>(h))(k)) return k;
    return index_t(-1);
  };
  return first_of_ranges(n, least, first_in, &holds);
}

/// Running sums of weights whose type is not known: their sum over a range, and that range placed behind `before`.
template <class = void>
index_t sums_of_ranges(index_t n, index_t (*sum)(void const* of, index_t lo, index_t hi), index_t (*place)(void const* of, index_t lo, index_t hi, index_t before), void const* of) {
  int const parts = parallel_parts(n);
  std::vector<index_t> before(static_cast<std::size_t>(parts) + 1);
  if (parts > 1) parallel(parts, [&](int t) { before[std::size_t(t) + 1] = sum(of, n * t / parts, n * (t + 1) / parts); });
  for (std::size_t t = 1; t < before.size(); ++t) before[t] += before[t - 1];
  std::vector<index_t> after(before.size());
  parallel(parts, [&](int t) { after[std::size_t(t)] = place(of, n * t / parts, n * (t + 1) / parts, before[std::size_t(t)]); });
  return after[after.size() - 2];
}
/// place(k, the sum of weight(0) .. weight(k - 1)) for k in [0, n), in parallel; returns the sum of all. weight is called
/// twice per k, before place.
template <class Weight, class Place>
index_t running_sums(index_t n, Weight const& weight, Place const& place) {
  struct functions {
    Weight const& weight;
    Place const& place;
  } const both{weight, place};
  auto const sum = [](void const* of, index_t lo, index_t hi) {
    index_t all = 0;
    for (index_t k = lo; k < hi; ++k) all += static_cast<functions const*>(of)->weight(k);
    return all;
  };
  auto const placed = [](void const* of, index_t lo, index_t hi, index_t before) {
    for (index_t k = lo; k < hi; ++k) {
      index_t const here = static_cast<functions const*>(of)->weight(k);
      static_cast<functions const*>(of)->place(k, before);
      before += here;
    }
    return before;
  };
  return sums_of_ranges(n, sum, placed, &both);
}

/// Row pointers from the entries of each row. Errors: the sum does not fit into Ptr.
template <class Ptr>
buffer<Ptr> row_pointers_of(buffer<index_t> const& counts, char const* what, char const* remedy) {
  index_t const rows = counts.size();
  buffer<Ptr> row_ptr(rows + 1, uninitialized);
  Ptr* const p = row_ptr.data();
  p[0] = 0;
  index_t const total = running_sums(
      rows, [c = counts.data()](index_t i) { return c[i]; },
      [=, c = counts.data()](index_t i, index_t before) { p[i + 1] = Ptr(before + c[i]); });
  narrowed<Ptr>(total, what, remedy);
  return row_ptr;
}
/// The same from count(i), the entries of row i, which is called once per row.
template <class Ptr, class Count>
buffer<Ptr> row_pointers(index_t rows, Count const& count, char const* what = "the number of entries,",
                         char const* remedy = "Csr<std::int32_t, std::int64_t>") {
  buffer<index_t> counts(rows, uninitialized);
  parallel_ranges(rows, [&, c = counts.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) c[i] = count(i);
  });
  return row_pointers_of<Ptr>(counts, what, remedy);
}

/// Into how many ranges rows are cut, where before[i] is the work of the rows before i, and the last of `before` that of all.
template <class Int>
int work_parts(buffer<Int> const& before) {
  return parallel_parts(index_t(before[before.size() - 1]) + before.size() - 1);
}
/// f(first, last, t) for range t of rows; the ranges have about equal work, and a thread each.
template <class Int, class F>
void parallel_work(buffer<Int> const& before, F const& f) {
  index_t const rows = before.size() - 1, total = before[rows];
  int const parts = work_parts(before);
  auto cut = [&](int t) {
    auto less = [](Int work, index_t wanted) { return index_t(work) < wanted; };
    return t == parts ? rows : std::lower_bound(before.begin(), before.end() - 1, total * t / parts, less) - before.begin();
  };
  parallel(parts, [&](int t) {
    if (index_t const first = cut(t), last = cut(t + 1); first < last) f(first, last, t);
  });
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
  begin.data()[buckets] = running_sums(
      buckets,
      [=](index_t k) {
        index_t sum = 0;
        for (int t = 0; t < parts; ++t) sum += counts[t * buckets + k];
        return sum;
      },
      [=, first = begin.data()](index_t k, index_t before) {
        first[k] = before;
        for (int t = 0; t < parts; ++t) before += std::exchange(counts[t * buckets + k], before);
      });
  each_part([&](index_t lo, index_t hi, index_t* next) {
    walk(lo, hi, [&](index_t bucket, auto... item) { place(next[bucket]++, item...); });
  });
  return begin;
}

} // namespace sla::detail
