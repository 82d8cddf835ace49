// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Aggregates: the rows of a level in groups, along couplings that are strong for both of their rows (Vanek, Mandel and Brezina 1996).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/precond/amg/strength.hpp>
#include <sla/solve/precond/sweep.hpp>

namespace sla::detail {

/// The aggregate of each row, -1 for rows that are coupled to nothing, and how many there are.
struct aggregates {
  buffer<std::int32_t> of;
  index_t count = 0;
};

/// The aggregates of rows [lo, hi), numbered from 0: a free row takes its strong neighbours, and their free ones; one that is left
/// alone joins the neighbour that it is coupled to most, if that is in the range. strong(i, s, j) says whether the entry at s is, coupled(i, s) how much.
template <class K, class Strong, class Coupled, class Alone>
index_t aggregate_range(csr_view<std::int32_t, std::int32_t> const& rows, K const* values, index_t lo, index_t hi, Strong const& strong, Coupled const& coupled, Alone const& alone,
                        std::int32_t* of) {
  constexpr std::int32_t free = -2;
  std::fill(of + lo, of + hi, free);
  std::vector<index_t> taken;
  std::vector<std::int32_t> size;
  entries_ahead entries(rows, values, lo);
  for (index_t i = lo; i < hi; ++i) {
    if (of[i] != free) continue;
    entries.reach(i);
    if (alone(i)) {
      of[i] = -1;
      continue;
    }
    auto const mine = std::int32_t(size.size());
    taken.assign(1, i);
    of[i] = mine;
    auto const take = [&](index_t from, bool all) {
      rows.for_row(from, [&](index_t s, index_t j) {
        if (j < lo || j >= hi || j == from || (!all && of[j] != free) || !strong(from, s, j)) return;
        if (of[j] >= 0 && of[j] != mine) --size[std::size_t(of[j])];  // a near neighbour is taken over
        if (of[j] != mine) taken.push_back(j);
        of[j] = mine;
      });
    };
    take(i, true);
    for (std::size_t k = 1, near = taken.size(); k < near; ++k) take(taken[k], false);
    size.push_back(std::int32_t(taken.size()));
  }
  for (index_t i = lo; i < hi; ++i)
    if (of[i] >= 0 && size[std::size_t(of[i])] == 1) {
      index_t best = -1;
      decltype(coupled(i, index_t())) most = 0;
      rows.for_row(i, [&](index_t s, index_t j) {
        if (j == i || !(coupled(i, s) > most)) return;
        bool const outside = j < lo || j >= hi;  // it is asked when all ranges are done
        if (!outside && (of[j] < 0 || size[std::size_t(of[j])] < 2)) return;
        most = coupled(i, s), best = outside ? -1 : j;
      });
      if (best < 0) continue;
      size[std::size_t(of[i])] = 0;
      ++size[std::size_t(of[i] = of[best])];
    }
  std::int32_t count = 0;
  for (auto& s : size) s = s > 0 ? count++ : -1;
  for (index_t i = lo; i < hi; ++i)
    if (of[i] >= 0) of[i] = size[std::size_t(of[i])];
  return count;
}

/// Rows that are left alone where ranges meet join the aggregate of the row that they are coupled to most, of those that are not alone
/// too, or make a pair where both are coupled to each other most. Returns the number of aggregates, which are numbered anew.
template <class Coupled>
index_t joined_ranges(csr_view<std::int32_t, std::int32_t> const& rows, index_t count, Coupled const& coupled, std::int32_t* of) {
  std::vector<std::int32_t> size(std::size_t(count), 0);
  for (index_t i = 0; i < rows.rows; ++i)
    if (of[i] >= 0) ++size[std::size_t(of[i])];
  auto const is_alone = [&](index_t i) { return size[std::size_t(of[i])] < 2; };
  auto const most_coupled = [&](index_t i, bool alone_too) {
    index_t to = -1;
    decltype(coupled(i, index_t())) most = 0;
    rows.for_row(i, [&](index_t s, index_t j) {
      bool const elsewhere = j >= rows.rows;  // of another rank: it is asked when all ranks are done
      if (j != i && (elsewhere || (of[j] >= 0 && (alone_too || !is_alone(j)))) && coupled(i, s) > most) most = coupled(i, s), to = elsewhere ? -1 : j;
    });
    return to;
  };
  std::vector<std::pair<dependent_t<index_t, Coupled>, std::int32_t>> moves;
  for (index_t i = 0; i < rows.rows; ++i) {
    if (of[i] < 0 || !is_alone(i)) continue;
    index_t to = most_coupled(i, true);
    if (to >= 0 && is_alone(to)) {
      bool const pair = most_coupled(to, true) == i;
      if (pair && i > to) continue;
      if (!pair) to = most_coupled(i, false);
    }
    if (to >= 0) moves.emplace_back(i, of[to]);
  }
  for (auto const& [i, to] : moves) size[std::size_t(of[i])] = 0, of[i] = to;
  std::int32_t left = 0;
  for (auto& s : size) s = s > 0 ? left++ : -1;
  for (index_t i = 0; i < rows.rows; ++i)
    if (of[i] >= 0) of[i] = size[std::size_t(of[i])];
  return left;
}

/// Aggregates of a level: a coupling is strong where it is at least theta times the largest of its row, and of its column's. They do not
/// depend on the number of threads: rows are cut into ranges by their number alone, and only rows that would stand alone join one of another.
/// Columns behind those of the rows, which are of other ranks, are in none.
template <class T>
aggregates aggregate(amg_matrix<T> const& A, amg_rows<T> const& rows, double strength) {
  using Real = real_t<T>;
  index_t const n = A.rows(), ranges = std::clamp(n / 131072, index_t(1), index_t(64));
  aggregates out{buffer<std::int32_t>(A.cols(), uninitialized)};
  std::fill(out.of.data() + n, out.of.data() + out.of.size(), -1);
  auto const* const a = kernel_pointer(A.values().data());
  auto const* const phase = rows.phase.data();
  auto const* const most = rows.strongest.data();
  auto const theta = Real(strength);
  auto const view = A.pattern().view();
  auto const coupled = [=](index_t i, index_t s) { return coupling(a[s], phase[i]); };
  auto const strong = [=](index_t i, index_t s, index_t j) {
    Real const w = coupled(i, s);
    return w > 0 && w >= theta * most[i] && w >= theta * most[j];
  };
  auto const alone = [=](index_t i) { return !(most[i] > 0); };
  std::vector<index_t> count(std::size_t(ranges) + 1);
  auto* const of = out.of.data();
  for_batch_items(ranges, [&](index_t r) { count[std::size_t(r) + 1] = aggregate_range(view, a, n * r / ranges, n * (r + 1) / ranges, strong, coupled, alone, of); });
  for (std::size_t r = 1; r < count.size(); ++r) count[r] += count[r - 1];
  for_batch_items(ranges, [&](index_t r) {
    for (index_t i = n * r / ranges; r > 0 && i < n * (r + 1) / ranges; ++i)
      if (of[i] >= 0) of[i] += std::int32_t(count[std::size_t(r)]);
  });
  out.count = ranges > 1 ? joined_ranges(view, count.back(), coupled, of) : count.back();
  return out;
}

} // namespace sla::detail
