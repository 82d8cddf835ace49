// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete LU factorisation with levels of fill, ILU(k) (Watts 1981; Saad, Iterative Methods for Sparse Linear Systems, algorithm
// 10.5): ILU(0) on a larger pattern, which follows from that of A alone. Fill by size is in precond/ilut.hpp.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/ilu0.hpp>

namespace sla {

namespace detail {
/// A's entries and those that fill up to a level, in sorted rows. A's have level 0; what row k brings to row i has one more than the sum of
/// the levels of (i, k) and of the entry in row k. Errors: value_error where a row makes them more than most_fill times A's.
template <class Col, class Ptr>
std::shared_ptr<csr_pattern<Col, Ptr, host_memory> const> filled_pattern(csr_pattern<Col, Ptr, host_memory> const& A, int most, double most_fill) {
  std::vector<index_t> put(std::size_t(A.rows), -1), first{0}, behind_diagonal, waiting, row, col;
  std::vector<int> of_column(put.size()), level;
  for (index_t i = 0; i < A.rows; ++i) {
    auto const add = [&](index_t j, int l) {
      int& now = of_column[std::size_t(j)];
      if (std::exchange(put[std::size_t(j)], i) == i) {
        now = (std::min)(now, l);
        return;
      }
      now = l;
      row.push_back(j);
      if (j >= i) return;
      waiting.push_back(j);
      std::push_heap(waiting.begin(), waiting.end(), std::greater<>());
    };
    row.clear();
    A.view().for_row(i, [&](index_t, index_t j) { add(j, 0); });
    while (!waiting.empty()) {
      std::pop_heap(waiting.begin(), waiting.end(), std::greater<>());
      auto const k = std::size_t(waiting.back());
      waiting.pop_back();
      for (index_t u = behind_diagonal[k]; u < first[k + 1]; ++u)
        if (int const before = of_column[k] + level[std::size_t(u)]; before < most) add(col[std::size_t(u)], before + 1);
    }
    std::sort(row.begin(), row.end());
    behind_diagonal.push_back(first.back() + (std::upper_bound(row.begin(), row.end(), i) - row.begin()));
    for (index_t j : row) col.push_back(j), level.push_back(of_column[std::size_t(j)]);
    first.push_back(index_t(col.size()));
    if (double(col.size()) > most_fill * double(A.slots()))
      throw value_error(text("iluk{.level = ", most, "}: row ", i, " of ", A.rows, " makes L and U more than ", most_fill, " times A's ", A.slots(), " entries, as high levels do, and rows and columns for nearly all unknowns; take a lower level, ilut{} or amg{}, or raise .most_fill"));
  }
  using Pattern = csr_pattern<Col, Ptr, host_memory>;
  auto const entries = [](auto to, auto const& from) {
    std::transform(from.begin(), from.end(), to.data(), [](index_t v) { return static_cast<std::remove_reference_t<decltype(to[0])>>(v); });
    return to;
  };
  narrowed<Ptr>(first.back(), "the number of entries of iluk,", "Csr<std::int32_t, std::int64_t>");
  return detail::shared_of<Pattern const>(Pattern{A.rows, A.cols, entries(buffer<Ptr>(A.rows + 1, uninitialized), first), entries(buffer<Col>(first.back(), uninitialized), col)});
}
} // namespace detail

/// `solve(A, b, gmres{}, iluk{.level = 1})`: M = (L U)^-1, where L U is A on A's pattern and the entries that fill up to this level; level 0
/// is ilu0. The pattern is of A's alone: update(A) keeps it, and batch items share it. Blocks count as one entry.
/// Setup, Cost: as of ilu0 on the larger pattern, which grows fast with the level. Errors: as of ilu0; value_error for a level below 0 or most_fill below 1, and where
/// L and U get more than `most_fill` times A's entries: a row for nearly all unknowns fills all rows below it.
struct iluk {
  int level = 1;
  double most_fill = 100;

  using preconditioner_tag = void;
  static constexpr char const* name = "iluk";
  static constexpr bool one_triangle = false;

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    if (level < 0) throw value_error(text("iluk{.level = ", level, "}: a level of fill is at least 0, which is ilu0; 1 and 2 are usual"));
    if (!(most_fill >= 1)) throw value_error(text("iluk{.most_fill = ", most_fill, "}: L and U have A's entries at least; it is 1 or more"));
    return applied_triangles<iluk, T, S, F>(*this, A);
  }
  template <class Pattern>
  auto filled(Pattern const& A) const {
    return detail::filled_pattern(A, level, most_fill);
  }
  template <class T, class S, class F, class Layout>
  detail::triangle_values<T> fill(sparse_tensor<T, S, F> const& A, Layout const& layout) const {
    constexpr index_t PP = S::block_rows * S::block_cols;
    auto const& from = A.pattern();
    auto const& to = *layout.pattern;
    buffer<T> LU(A.batch_count() * to.slots() * PP);
    for (index_t b = 0; b < A.batch_count(); ++b)
      parallel_ranges(A.rows(), [&, in = A.values().data() + b * A.batch_stride(), out = LU.data() + b * to.slots() * PP](index_t lo, index_t hi) {
        for (index_t i = lo; i < hi; ++i) {
          index_t at = to.row_ptr[i];
          for (index_t s = from.row_ptr[i]; s < from.row_ptr[i + 1]; ++s) {
            while (to.col[at] != from.col[s]) ++at;
            std::copy_n(in + s * PP, PP, out + at * PP);
          }
        }
      });
    detail::eliminate_items<S::block_rows>(layout, kernel_pointer(LU.data()), A.batch_count(), "iluk: zero pivot in row ", "; permute rows, or use ilut, jacobi or lu");
    return {std::move(LU), text(", level ", level)};
  }
};

} // namespace sla
