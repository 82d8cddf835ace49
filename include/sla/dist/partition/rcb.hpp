// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `rcb`, the partitioner by coordinates: recursive bisection across the longest side of the bounding box, into any number of
// parts. Partitioners by the graph are in adapter/metis.hpp and adapter/kahip.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/dist/partition/strips.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

namespace detail {
/// Errors: shape_error and value_error, if coordinates are not finite numbers, one row of them for each of `rows` rows.
template <class = void>
void require_coordinates(matrix<double> const& x, index_t rows, char const* who) {
  if (x.extent(0) != rows || x.extent(1) < 1)
    throw shape_error(text(who, ": the coordinates are ", x.extent(0), " x ", x.extent(1), " for ", rows,
                           " rows; give one row of coordinates per row, and at least one axis"));
  for (index_t n = 0; n < x.size(); ++n)
    if (!std::isfinite(x[n]))
      throw value_error(text(who, ": coordinate ", n % x.extent(1), " of row ", n / x.extent(1), " is ", x[n], "; give finite numbers"));
}
} // namespace detail

/// Recursive coordinate bisection: parts are boxes of about equal work, whatever their number. Deterministic: equal
/// coordinates are told apart by their row.
///     distribute<SparseShard<0>>(A, m, rcb{xy})      // xy: rows x axes
/// Cost: O(rows log parts). Errors: coordinates or weights of the wrong length, NaN or infinity among them, negative weights.
/// Source: Berger and Bokhari, A Partitioning Strategy for Nonuniform Problems on Multiprocessors (IEEE Trans. Computers C-36, 1987).
struct rcb {
  matrix<double> coordinates{};
  vector<double> weights{};  ///< the work of each row; empty: its stored entries, where they are known, and row_weight
  double row_weight = detail::usual_row_weight;  ///< what a row costs besides its entries, in entries

  template <class View>
  owner_map partition(View const& view, int parts) const {
    index_t const n = view.rows;
    detail::require_coordinates(coordinates, n, "rcb");
    if (weights.size() != 0 && weights.size() != n)
      throw shape_error(text("rcb: ", weights.size(), " weights for ", n, " rows; give one per row, or none"));
    std::vector<double> work(static_cast<std::size_t>(n));
    auto const entries = [&](index_t i) {
      if constexpr (CountedPattern<View>)
        return double(view.entries_before(i + 1) - view.entries_before(i));
      else
        return 0 * double(i);
    };
    for (index_t i = 0; i < n; ++i) {
      double const w = weights.size() ? weights[i] : entries(i) + row_weight;
      if (!(std::isfinite(w) && w >= 0)) throw value_error(text("rcb: the weight of row ", i, " is ", w, "; give finite numbers of at least 0"));
      work[std::size_t(i)] = w;
    }
    std::vector<index_t> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), index_t(0));
    std::vector<int> owner(static_cast<std::size_t>(n), 0);
    bisect(rows.data(), rows.data() + n, 0, parts, work, owner);
    return {std::move(owner), parts};
  }

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

} // namespace sla
