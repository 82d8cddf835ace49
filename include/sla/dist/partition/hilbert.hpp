// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hilbert`, the partitioner by coordinates along Hilbert's curve: one sort, and cuts where the work is equal, on one rank or on all.
// Boxes by bisection, whose parts have fewer neighbours' rows, are in dist/partition/rcb.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/dist/engine/self.hpp>
#include <sla/dist/partition/rcb.hpp>

namespace sla {

namespace detail {
/// The place on Hilbert's curve of a cell, whose coordinates are numbers of `bits` bits; x is overwritten.
/// Source: Skilling, Programming the Hilbert curve (AIP Conference Proceedings 707, 2004).
inline std::uint64_t hilbert_place(std::vector<std::uint64_t>& x, int bits) {
  std::uint64_t const top = std::uint64_t(1) << (bits - 1);
  for (std::uint64_t q = top; q > 1; q >>= 1)
    for (auto& each : x) {
      std::uint64_t const low = q - 1, swap = (x[0] ^ each) & low;
      if (each & q)
        x[0] ^= low;
      else
        x[0] ^= swap, each ^= swap;
    }
  for (std::size_t a = 1; a < x.size(); ++a) x[a] ^= x[a - 1];
  std::uint64_t flip = 0;
  for (std::uint64_t q = top; q > 1; q >>= 1)
    if (x.back() & q) flip ^= q - 1;
  std::uint64_t out = 0;
  for (int b = bits - 1; b >= 0; --b)
    for (auto each : x) out = out << 1 | ((each ^ flip) >> b & 1);
  return out;
}
} // namespace detail

/// Pieces of Hilbert's curve of equal work: neighbours on the curve are neighbours in space. Coordinates as of `rcb`, at most 32 axes; the same parts
/// whoever has the rows. For points that move it is cheaper than rcb, and the parts change little.
///     repartition(D, hilbert{mine})                  // of the rows that this rank owns
/// Cost: one sort of the own rows, and some reductions of at most 16 parts numbers. Errors: those of rcb.
/// Source: Pilkington and Baden, Dynamic Partitioning of Non-Uniform Structured Workloads with Spacefilling Curves (IEEE Trans. Parallel Distrib. Syst. 7, 1996).
struct hilbert {
  matrix<double> coordinates{};
  vector<double> weights{};  ///< the work of each row; empty: its stored entries, where they are known, and row_weight
  double row_weight = detail::usual_row_weight;  ///< what a row costs besides its entries, in entries

  template <class View>
  owner_map partition(View const& view, int parts) const {
    detail::require_coordinates(coordinates, view.rows, "hilbert");
    self alone;
    auto const one = erase(alone);
    rows_of_rank rows{*one, view.rows, std::vector<index_t>(std::size_t(view.rows)), std::vector<index_t>(std::size_t(view.rows), 0), {}};
    std::iota(rows.global.begin(), rows.global.end(), index_t(0));
    if constexpr (CountedPattern<View>)
      for (index_t i = 0; i < view.rows; ++i) rows.entries[std::size_t(i)] = view.entries_before(i + 1) - view.entries_before(i);
    return {pieces(rows, parts), parts};
  }
  /// The same parts, found by all ranks, each with its own rows. Collective.
  template <class = void>
  std::vector<int> partition_on_ranks(rows_of_rank const& rows) const {
    return pieces(rows, rows.ranks.size());
  }

private:
  template <class = void>
  std::vector<int> pieces(rows_of_rank const& rows, int parts) const {
    auto const work = detail::checked_work(*this, rows, "hilbert");
    index_t const n = index_t(work.size()), axes = coordinates.extent(1);
    if (axes > 32) throw shape_error(text("hilbert: coordinates on ", axes, " axes; give at most 32"));
    auto const bounds = detail::box_bounds(rows.ranks, coordinates, 1, [](index_t) { return 0; });
    double side = 0;
    for (index_t a = 0; a < axes; ++a) side = (std::max)(side, bounds[std::size_t(2 * a + 1)] / 2 - bounds[std::size_t(2 * a)] / 2);
    int const bits = int((std::min)(index_t(50), 64 / axes));
    double const cells = double((std::uint64_t(1) << bits) - 1);
    std::vector<std::uint64_t> place(work.size()), cell(static_cast<std::size_t>(axes)), key(work.size()), row(work.size());
    for (index_t i = 0; i < n; ++i) {
      for (index_t a = 0; a < axes; ++a)
        cell[std::size_t(a)] = side > 0 ? std::uint64_t(cells * ((coordinates(i, a) / 2 - bounds[std::size_t(2 * a)] / 2) / side)) : 0;
      place[std::size_t(i)] = detail::hilbert_place(cell, bits);
    }
    std::vector<index_t> order(work.size());
    std::iota(order.begin(), order.end(), index_t(0));
    std::sort(order.begin(), order.end(), [&](index_t i, index_t j) { return std::pair(place[std::size_t(i)], i) < std::pair(place[std::size_t(j)], j); });
    std::vector<double> before(work.size() + 1, 0.0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      auto const i = std::size_t(order[k]);
      key[k] = place[i], row[k] = std::uint64_t(rows.global[i]), before[k + 1] = before[k] + work[i];
    }
    double const all = all_reduce(rows.ranks, before.back());
    std::vector<detail::cut_search> searches;
    for (int p = 1; p < parts; ++p) searches.push_back({0, n, all * p / parts});
    auto const cuts = detail::cut_places(rows.ranks, key, row, before, std::move(searches));
    std::vector<int> part(work.size());
    std::size_t p = 0;
    for (index_t k = 0; k < n; ++k) {
      while (p < cuts.size() && cuts[p] <= k) ++p;
      part[std::size_t(order[std::size_t(k)])] = int(p);
    }
    return part;
  }
};

} // namespace sla
