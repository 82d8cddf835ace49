// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structural singularity: can the rows be matched with columns along stored entries? If not, the determinant is zero
// whatever the values are (Duff, On Algorithms for Obtaining a Maximum Transversal, ACM TOMS 1981).
#pragma once

#include <vector>

#include <sla/core/shape.hpp>

namespace sla::detail {

/// A row that no choice of pivots can serve, -1 if there is none; then row_of[j] is the row of column j. Cost: O(rows) where the diagonal is stored;
/// O(rows nnz) at worst.
template <class View>
index_t match_rows(View const& pattern, std::vector<index_t>& row_of) {
  index_t const n = pattern.rows;
  row_of.assign(std::size_t(pattern.cols), -1);
  std::vector<index_t> column_of(std::size_t(n), -1);
  auto take = [&](index_t i, index_t j) {
    row_of[std::size_t(j)] = i;
    column_of[std::size_t(i)] = j;
  };
  for (index_t i = 0; i < n; ++i)  // the diagonal first
    pattern.for_row(i, [&](index_t, index_t j) {
      if (i == j) take(i, j);
    });
  for (index_t i = 0; i < n; ++i)
    pattern.for_row(i, [&](index_t, index_t j) {
      if (column_of[std::size_t(i)] < 0 && row_of[std::size_t(j)] < 0) take(i, j);
    });

  // breadth first along alternating paths, for the rows that are left
  std::vector<index_t> seen_for(std::size_t(pattern.cols), -1), from(std::size_t(pattern.cols), -1), front;
  for (index_t start = 0; start < n; ++start) {
    if (column_of[std::size_t(start)] >= 0) continue;
    front.assign(1, start);
    index_t free_column = -1;
    for (std::size_t next = 0; next < front.size() && free_column < 0; ++next)
      pattern.for_row(front[next], [&](index_t, index_t j) {
        if (free_column >= 0 || seen_for[std::size_t(j)] == start) return;
        seen_for[std::size_t(j)] = start;
        from[std::size_t(j)] = front[next];
        if (row_of[std::size_t(j)] < 0)
          free_column = j;
        else
          front.push_back(row_of[std::size_t(j)]);
      });
    if (free_column < 0) return start;
    for (index_t j = free_column; j >= 0;) {
      index_t const i = from[std::size_t(j)], before = column_of[std::size_t(i)];
      take(i, j);
      j = before;
    }
  }
  return -1;
}
/// The same row, where the matching is not wanted.
template <class View>
index_t unmatched_row(View const& pattern) {
  std::vector<index_t> row_of;
  return match_rows(pattern, row_of);
}

/// A pattern without its stored zeros.
template <class View, class T>
struct without_zeros {
  View pattern;
  T const* values;
  index_t rows, cols;
  template <class F>
  void for_row(index_t i, F const& f) const {
    pattern.for_row(i, [&](index_t s, index_t j) {
      if (values[s] != T{}) f(s, j);
    });
  }
};
} // namespace sla::detail
