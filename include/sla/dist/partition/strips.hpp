// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `strips`, the partitioner that cuts the rows into contiguous ranges of equal work.
// What a partitioner is, is in dist/partition/owners.hpp.
#pragma once

#include <sla/dist/partition/owners.hpp>
#include <sla/tensor/build/cuts.hpp>

namespace sla {

/// Contiguous ranges of rows with about equally many stored entries each. Ranks may own nothing.
/// Cost: O(parts log rows).
struct strips {
  double row_weight = detail::usual_row_weight;  ///< what a row costs besides its entries, in entries

  template <CountedPattern View>
  owner_map partition(View const& view, int parts) const {
    return owner_map(detail::equal_work_cuts(view, parts, row_weight));
  }
};

} // namespace sla
