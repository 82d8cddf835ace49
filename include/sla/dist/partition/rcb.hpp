// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `rcb`, the partitioner by coordinates: recursive bisection across the longest side of the bounding box, into any number of
// parts, on one rank or on all. Along a curve: dist/partition/hilbert.hpp; by the graph: adapter/.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/dist/partition/cut_places.hpp>
#include <sla/dist/partition/rows_of_rank.hpp>
#include <sla/dist/partition/strips.hpp>

namespace sla {

namespace detail {
/// Errors: shape_error and value_error, if coordinates are not finite numbers, one row of them for each of `rows` rows.
inline void require_coordinates(matrix<double> const& x, index_t rows, char const* who) {
  require_coordinates(x, rows, who, "", [](index_t i) { return i; });
}
} // namespace detail

/// Recursive coordinate bisection: parts are boxes of about equal work, whatever their number. Deterministic: equal
/// coordinates are told apart by their row. The coordinates are those of the rows that the call shows: all where every rank has the matrix, and
/// those of its own rows where a rank has no others; the parts are the same.
///     distribute<SparseShard<0>>(A, m, rcb{xy})      // xy: rows x axes
///     repartition(D, rcb{mine})                      // of the rows that this rank owns
/// Cost: O(rows log parts); on ranks of the own rows, and log parts times some reductions of at most 16 parts numbers.
/// Errors: coordinates or weights of the wrong length, NaN or infinity among them, negative weights.
/// Source: Berger and Bokhari, A Partitioning Strategy for Nonuniform Problems on Multiprocessors (IEEE Trans. Computers C-36, 1987).
struct rcb {
  matrix<double> coordinates{};
  vector<double> weights{};  ///< the work of each row; empty: its stored entries, where they are known, and row_weight
  double row_weight = detail::usual_row_weight;  ///< what a row costs besides its entries, in entries

  template <class View>
  owner_map partition(View const& view, int parts) const {
    index_t const n = view.rows;
    detail::require_coordinates(coordinates, n, "rcb");
    auto const entries = [&](index_t i) {
      if constexpr (CountedPattern<View>)
        return view.entries_before(i + 1) - view.entries_before(i);
      else
        return 0 * i;
    };
    auto const work = detail::work_of_rows(weights, row_weight, n, entries, "rcb", "", [](index_t i) { return i; });
    std::vector<index_t> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), index_t(0));
    std::vector<int> owner(static_cast<std::size_t>(n), 0);
    bisect(rows.data(), rows.data() + n, 0, parts, work, owner);
    return {std::move(owner), parts};
  }

  /// The same parts, found by all ranks, each with its own rows: all boxes of a level are cut at once. Collective.
  template <class = void>
  std::vector<int> partition_on_ranks(rows_of_rank const& rows) const;

private:
  using place = index_t*;

  /// The rows [begin, end) become the parts from `first` on.
  template <class = void>
  void bisect(place begin, place end, int first, int parts, std::vector<double> const& work, std::vector<int>& owner) const {
    if (parts == 1 || begin == end) {
      for (place r = begin; r < end; ++r) owner[std::size_t(*r)] = first;
      return;
    }
    int const left = parts / 2;
    index_t const axis = longest(begin, end);
    auto const before = [&](index_t a, index_t b) { return std::pair(coordinates(a, axis), a) < std::pair(coordinates(b, axis), b); };
    double all = 0;
    for (place r = begin; r < end; ++r) all += work[std::size_t(*r)];
    // Where there are rows enough, every part gets one.
    bool const enough = end - begin >= parts;
    place const lowest = enough ? begin + left : begin, highest = enough ? end - (parts - left) : end;
    place const cut = (std::clamp)(split(begin, end, all * left / parts, work, before), lowest, highest);
    if (cut < end) std::nth_element(begin, cut, end, before);
    bisect(begin, cut, first, left, work, owner);
    bisect(cut, end, first + left, parts - left, work, owner);
  }

  template <class = void>
  index_t longest(place begin, place end) const {
    index_t axis = 0;
    double length = -1;
    for (index_t a = 0; a < coordinates.extent(1); ++a) {
      double low = coordinates(*begin, a), high = low;
      for (place r = begin; r < end; ++r) {
        low = (std::min)(low, coordinates(*r, a));
        high = (std::max)(high, coordinates(*r, a));
      }
      if (high - low > length) length = high - low, axis = a;
    }
    return axis;
  }

  /// Partly sorts [begin, end) and returns where the work before comes nearest to `wanted`.
  template <class Before>
  static place split(place begin, place end, double wanted, std::vector<double> const& work, Before const& before) {
    double done = 0;
    while (end - begin > 1) {
      place const middle = begin + (end - begin) / 2;
      std::nth_element(begin, middle, end, before);
      double half = 0;
      for (place r = begin; r < middle; ++r) half += work[std::size_t(*r)];
      if (done + half <= wanted)
        begin = middle, done += half;
      else
        end = middle;
    }
    if (begin == end) return begin;
    double const with = done + work[std::size_t(*begin)];
    return with - wanted < wanted - done ? begin + 1 : begin;
  }
};

template <class>
std::vector<int> rcb::partition_on_ranks(rows_of_rank const& rows) const {
  struct box {
    int first, parts;
    index_t begin, end;  ///< its rows, in `order`
  };
  auto const work = detail::checked_work(*this, rows, "rcb");
  any_communicator& c = rows.ranks;
  index_t const n = index_t(rows.global.size()), axes = coordinates.extent(1);
  std::vector<index_t> order(static_cast<std::size_t>(n)), box_of(order.size());
  std::vector<std::uint64_t> key(order.size()), row(order.size());
  std::vector<double> before(order.size() + 1), counted(order.size() + 1);
  std::iota(order.begin(), order.end(), index_t(0));
  std::iota(counted.begin(), counted.end(), 0.0);
  std::vector<int> part(order.size(), 0);
  for (std::vector<box> open{{0, c.size(), 0, n}};;) {
    std::vector<box> next;
    for (box const& b : open) {
      if (b.parts > 1)
        next.push_back(b);
      else
        for (index_t k = b.begin; k < b.end; ++k) part[std::size_t(order[std::size_t(k)])] = b.first;
    }
    open = std::exchange(next, {});
    if (open.empty()) return part;

    std::fill(box_of.begin(), box_of.end(), index_t(-1));
    for (std::size_t b = 0; b < open.size(); ++b)
      for (index_t k = open[b].begin; k < open[b].end; ++k) box_of[std::size_t(order[std::size_t(k)])] = index_t(b);
    auto const bounds = detail::box_bounds(c, coordinates, index_t(open.size()), [&](index_t i) { return box_of[std::size_t(i)]; });
    std::vector<double> totals(2 * open.size());  // work and rows of each box
    for (std::size_t b = 0; b < open.size(); ++b) {
      double const* const sides = bounds.data() + 2 * index_t(b) * axes;
      index_t axis = 0;
      for (index_t a = 1; a < axes; ++a)
        if (sides[2 * a + 1] - sides[2 * a] > sides[2 * axis + 1] - sides[2 * axis]) axis = a;
      std::sort(order.begin() + open[b].begin, order.begin() + open[b].end,
                [&](index_t i, index_t j) { return std::pair(coordinates(i, axis), i) < std::pair(coordinates(j, axis), j); });
      for (index_t k = open[b].begin; k < open[b].end; ++k) {
        index_t const i = order[std::size_t(k)];
        key[std::size_t(k)] = detail::ordered_key(coordinates(i, axis));
        row[std::size_t(k)] = std::uint64_t(rows.global[std::size_t(i)]);
        totals[2 * b] += work[std::size_t(i)];
      }
      totals[2 * b + 1] = double(open[b].end - open[b].begin);
    }
    for (index_t k = 0; k < n; ++k) before[std::size_t(k) + 1] = before[std::size_t(k)] + (box_of[std::size_t(order[std::size_t(k)])] < 0 ? 0 : work[std::size_t(order[std::size_t(k)])]);
    all_reduce(c, std::span<double>(totals));
    std::vector<detail::cut_search> searches;
    for (std::size_t b = 0; b < open.size(); ++b) searches.push_back({open[b].begin, open[b].end, totals[2 * b] * (open[b].parts / 2) / open[b].parts});
    auto cuts = detail::cut_places(c, key, row, before, searches);

    // Where there are rows enough, every part gets one: those cuts are made again by counting.
    std::vector<double> left;
    for (std::size_t b = 0; b < open.size(); ++b) left.push_back(double(cuts[b] - open[b].begin));
    all_reduce(c, std::span<double>(left));
    std::vector<detail::cut_search> again;
    std::vector<std::size_t> which;
    for (std::size_t b = 0; b < open.size(); ++b) {
      double const all = totals[2 * b + 1], low = open[b].parts / 2, high = all - (open[b].parts - open[b].parts / 2);
      if (all < open[b].parts || (left[b] >= low && left[b] <= high)) continue;
      which.push_back(b);
      again.push_back({open[b].begin, open[b].end, left[b] < low ? low : high});
    }
    if (!again.empty()) {
      auto const counts = detail::cut_places(c, key, row, counted, std::move(again));
      for (std::size_t k = 0; k < which.size(); ++k) cuts[which[k]] = counts[k];
    }
    for (std::size_t b = 0; b < open.size(); ++b) {
      int const half = open[b].parts / 2;
      next.push_back({open[b].first, half, open[b].begin, cuts[b]});
      next.push_back({open[b].first + half, open[b].parts - half, cuts[b], open[b].end});
    }
    open = std::move(next);
  }
}

} // namespace sla
