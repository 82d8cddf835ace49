// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where to cut the rows of a pattern into ranges of equal work: strips of ranks, and of subdomains.
#pragma once

#include <vector>

#include <sla/core/shape.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla::detail {

/// What a row costs besides its entries: the vectors of an iteration, in entries.
inline constexpr double usual_row_weight = 3;

/// parts + 1 numbers: part r is [cuts[r], cuts[r + 1]), where the parts have about equally many stored entries, and a row counts
/// as `row_weight` of them besides its own. Parts may be empty. Cost: O(parts log rows).
template <class View>
std::vector<index_t> equal_work_cuts(View const& view, int parts, double row_weight = usual_row_weight) {
  auto const work = [&](index_t row) { return double(view.entries_before(row)) + row_weight * double(row); };
  std::vector<index_t> out(std::size_t(parts) + 1, 0);
  double const all = work(view.rows);
  for (int r = 1; r < parts; ++r) out[std::size_t(r)] = first_reaching(out[std::size_t(r) - 1], view.rows, all * r / parts, work);
  out.back() = view.rows;
  return out;
}

} // namespace sla::detail
