// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete LU factorisation without fill, ILU(0) (Meijerink and van der Vorst 1977; Saad, Iterative Methods for Sparse
// Linear Systems, algorithm 10.4), for scalar and block entries. Applying it is two sweeps over the rows: a whole node.
#pragma once

#include <utility>

#include <sla/solve/precond/triangles.hpp>

namespace sla {

namespace detail {
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
    for (index_t u = diagonal[k] + 1; u < ptr[k + 1]; ++u)
      if (index_t const at = place[col[u]]; at >= 0) subtract_product<P, false>(a + s * PP, a + u * PP, a + at * PP, P);
  }
  for (index_t s = ptr[i]; s < ptr[i + 1]; ++s) place[col[s]] = -1;
  return invert<P>(a + index_t(diagonal[i]) * PP);
}
} // namespace detail

/// `solve(A, b, gmres{}, ilu0{})`: M = (L U)^-1, where L U is A on A's pattern. Setup: O(sum over rows of L entries times U
/// entries), memory of A's values once more. Cost: the factors are read once per application, for all right-hand sides; batch
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
    kernel_t<T>* const values = kernel_pointer(LU.data());
    detail::for_batch_items(A.batch_count(), [&](index_t b) {
      buffer<index_t> place(A.cols(), uninitialized);
      std::fill(place.begin(), place.end(), index_t(-1));
      for (index_t i = 0; i < A.rows(); ++i)
        if (!detail::eliminate_row<S::block_rows>(layout, values + b * A.batch_stride(), i, place))
          throw value_error(text("ilu0: zero pivot in row ", i, b > 0 ? text(" of batch item ", b) : "",
                                 "; the factorisation without fill does not exist: permute rows, or use jacobi or lu"));
    });
    return {std::move(LU), {}};
  }
};

} // namespace sla
