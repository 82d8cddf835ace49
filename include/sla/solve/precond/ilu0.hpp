// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete LU factorisation without fill, ILU(0) (Meijerink and van der Vorst 1977; Saad, Iterative Methods for Sparse
// Linear Systems, algorithm 10.4), for scalar and block entries. Applying it is two sweeps over the rows: a whole node.
#pragma once

#include <algorithm>
#include <utility>

#include <sla/solve/precond/triangles.hpp>
#include <sla/solve/seam/numbered_error.hpp>

namespace sla {

namespace detail {
/// A row of U that has this many times the entries of the row from which it is eliminated is not read but searched.
inline constexpr index_t much_longer = 16;

/// Row i of L and U, in the place of A's, from the rows above it; `place` maps columns to the slots of the row. False, if the
/// pivot is singular.
template <index_t P, class T, class Layout>
bool eliminate_row(Layout const& layout, T* a, index_t i, buffer<index_t>& place) {
  constexpr index_t PP = P * P;
  auto const& ptr = layout.pattern->row_ptr;
  auto const& col = layout.pattern->col;
  auto const& diagonal = layout.diagonal;
  for (index_t s = ptr[i]; s < ptr[i + 1]; ++s) place[col[s]] = s;
  for (index_t s = ptr[i]; s < diagonal[i]; ++s) {
    index_t const k = col[s];
    multiply_right<P, false>(a + s * PP, a + index_t(diagonal[k]) * PP);  // L_ik = A_ik U_kk^-1
    auto const eliminate = [&](index_t u, index_t at) { subtract_product<P, false>(a + s * PP, a + u * PP, a + at * PP, P); };
    index_t const first = diagonal[k] + 1, last = ptr[k + 1];
    if (last - first <= much_longer * (ptr[i + 1] - s)) {
      for (index_t u = first; u < last; ++u)
        if (index_t const at = place[col[u]]; at >= 0) eliminate(u, at);
    } else {  // of a row with an entry for nearly each column, those that row i has too are looked up
      for (index_t at = s + 1; at < ptr[i + 1]; ++at)
        if (auto const u = std::lower_bound(&col[0] + first, &col[0] + last, col[at]) - &col[0]; u < last && col[u] == col[at]) eliminate(u, at);
    }
  }
  for (index_t s = ptr[i]; s < ptr[i + 1]; ++s) place[col[s]] = -1;
  return invert<P>(a + index_t(diagonal[i]) * PP);
}
/// L and U of each batch item in the place of its values, [*batch][slot of the layout]. Errors: value_error: wrong, the row, remedy.
template <index_t P, class T, class Layout>
void eliminate_items(Layout const& layout, T* values, index_t batch, char const* wrong, char const* remedy) {
  index_t const rows = layout.pattern->rows, stride = layout.pattern->slots() * P * P;
  for_batch_items(batch, [&](index_t b) {
    buffer<index_t> place(rows, uninitialized);
    std::fill(place.begin(), place.end(), index_t(-1));
    for (index_t i = 0; i < rows; ++i)
      if (!eliminate_row<P>(layout, values + b * stride, i, place)) throw numbered_error(wrong, row_number{i}, b > 0 ? text(" of batch item ", b) : "", remedy);
  });
}
} // namespace detail

/// `solve(A, b, gmres{}, ilu0{})`: M = (L U)^-1, where L U is A on A's pattern. Setup: O(sum over the entries of L of the shorter of
/// two rows, of its own and of U's; a logarithm more where U's is much longer), memory of A's values once more. Cost: the factors are read once per application, for all right-hand sides; batch
/// items in parallel, rows in order. Errors: value_error naming the row whose pivot is zero or not stored.
struct ilu0 {
  using preconditioner_tag = void;
  static constexpr char const* name = "ilu0";
  static constexpr bool one_triangle = false;

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    return applied_triangles<ilu0, T, S, F>(*this, A);
  }
  template <class T, class S, class F, class Layout>
  detail::triangle_values<T> fill(sparse_tensor<T, S, F> const& A, Layout const& layout) const {
    buffer<T> LU = A.values();
    detail::eliminate_items<S::block_rows>(layout, kernel_pointer(LU.data()), A.batch_count(), "ilu0: zero pivot in row ",
                                     "; the factorisation without fill does not exist: permute rows, or use ilut, jacobi or lu");
    return {std::move(LU), {}};
  }
};

} // namespace sla
