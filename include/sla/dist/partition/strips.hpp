// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partitioners: which rank owns which rows of a sparse tensor. `strips` cuts the rows into contiguous ranges of equal work.
// What is made of the ranges (numbering, halo) is in dist/layout.hpp and dist/halo.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/core/shape.hpp>

namespace sla {

/// A partitioner deals the rows of a pattern out to ranks: `first(pattern view, ranks)` gives ranks + 1 numbers, and rank r
/// owns rows [first[r], first[r + 1]). Every rank calls it with the same arguments and must get the same numbers.
template <class P, class View>
concept Partitioner = requires(P const& partitioner, View const& view) {
  { partitioner.first(view, 1) } -> std::same_as<std::vector<index_t>>;
};

/// Contiguous ranges of rows with about equally many stored entries each. Ranks may own nothing.
/// Cost: O(ranks log rows).
struct strips {
  double row_weight = 3;  ///< what a row costs besides its entries: the vectors of an iteration, in entries

  template <class View>
  std::vector<index_t> first(View const& view, int ranks) const {
    auto const work = [&](index_t row) { return double(view.entries_before(row)) + row_weight * double(row); };
    std::vector<index_t> out(std::size_t(ranks) + 1, 0);
    double const all = work(view.rows);
    for (int r = 1; r < ranks; ++r) {
      index_t lo = out[std::size_t(r) - 1], hi = view.rows;
      while (lo < hi) {
        index_t const mid = lo + (hi - lo) / 2;
        if (work(mid) < all * r / ranks)
          lo = mid + 1;
        else
          hi = mid;
      }
      out[std::size_t(r)] = lo;
    }
    out.back() = view.rows;
    return out;
  }
};

}  // namespace sla
