// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partitioners: which rank owns which rows of a sparse tensor. `strips` cuts the rows into contiguous ranges of equal work.
// What is made of the ranges (numbering, halo) is in dist/layout.hpp and dist/halo.hpp.
#pragma once

#include <vector>

#include <sla/tensor/cuts.hpp>

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
  double row_weight = detail::usual_row_weight;  ///< what a row costs besides its entries, in entries

  template <class View>
  std::vector<index_t> first(View const& view, int ranks) const {
    return detail::equal_work_cuts(view, ranks, row_weight);
  }
};

}  // namespace sla
