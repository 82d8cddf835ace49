// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete Cholesky factorisation without fill, IC(0) (Meijerink and van der Vorst 1977), for Hermitian positive definite
// matrices of scalar and block entries; half the memory of ilu0. Where it breaks down, the diagonal is shifted (Manteuffel 1980).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/precond/hermitian.hpp>
#include <sla/solve/precond/triangles.hpp>
#include <sla/solve/seam/numbered_error.hpp>

namespace sla {

namespace detail {
/// The lower triangle of A, whose rows are sorted, with A_ii (1 + shift), into L; one batch item.
template <index_t P, class T, class Pattern, class Layout>
void copy_lower(Pattern const& A, T const* a, Layout const& layout, double shift, T* L) {
  constexpr index_t PP = P * P;
  auto const& ptr = layout.pattern->row_ptr;
  parallel_ranges(layout.pattern->rows, [&](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      index_t const first = ptr[i], last = ptr[i + 1];
      std::copy_n(a + index_t(A.row_ptr[i]) * PP, (last - first) * PP, L + first * PP);
      T* const d = L + (last - 1) * PP;
      for (index_t p = 0; p < P; ++p) d[p * P + p] = d[p * P + p] * T(real_t<T>(1 + shift));
    }
  });
}

/// L in the place of the lower triangle, its diagonal blocks inverted. The first row whose pivot is not positive, or -1.
template <index_t P, class T, class Layout>
index_t factor_lower(Layout const& layout, T* a, buffer<index_t>& place) {
  constexpr index_t PP = P * P;
  auto const& ptr = layout.pattern->row_ptr;
  auto const& col = layout.pattern->col;
  for (index_t i = 0; i < layout.pattern->rows; ++i) {
    index_t const d = layout.diagonal[i];
    for (index_t s = ptr[i]; s < d; ++s) place[col[s]] = s;
    for (index_t s = ptr[i]; s < d; ++s) {
      index_t const j = col[s], dj = layout.diagonal[j];
      for (index_t u = ptr[j]; u < dj; ++u)
        if (index_t const at = place[col[u]]; at >= 0) subtract_outer<P>(a + at * PP, a + u * PP, a + s * PP);
      multiply_right<P, true>(a + s * PP, a + dj * PP);  // L_ij = (A_ij - sum L_ik L_jk^H) L_jj^-H
      subtract_outer<P>(a + s * PP, a + s * PP, a + d * PP);
    }
    for (index_t s = ptr[i]; s < d; ++s) place[col[s]] = -1;
    if (!invert_cholesky<P>(a + d * PP)) return i;
  }
  return -1;
}
} // namespace detail

/// `solve(A, b, cg{}, ic0{})`: M = (L L^H)^-1, where L L^H is A on A's pattern, Hermitian positive definite. Setup: O(sum over
/// entries of L of their row's length), memory of half of A's values. Cost: the factor is read twice per application, for all
/// right-hand sides; batch items in parallel, rows in order.
/// A pivot may fail to be positive though A is definite. With `shift` > 0, A + s diag(A) is factored then, with s = shift, and
/// doubled while that fails; the report says which s was needed ("ic0, shift 0.002"), for the batch item that needs the most.
/// Errors: value_error naming an entry that is not the conjugate of its mirror image, the row whose diagonal entry is not
/// stored, and the row whose pivot is not positive.
struct ic0 {
  double shift = 0;

  using preconditioner_tag = void;
  static constexpr char const* name = "ic0";
  static constexpr bool one_triangle = true;

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    if (!(shift >= 0) || !(shift < 1e6))
      throw value_error(text("ic0{.shift = ", shift, "}: a shift is a part of the diagonal, such as 1e-3, or 0 to try none"));
    return applied_triangles<ic0, T, S, F>(*this, A);
  }
  template <class T, class S, class F, class Layout>
  detail::triangle_values<T> fill(sparse_tensor<T, S, F> const& A, Layout const& layout) const {
    constexpr index_t P = S::block_rows;
    detail::require_hermitian(A, name, "ilu0");
    index_t const stride = layout.pattern->slots() * P * P;
    buffer<T> L(A.batch_count() * stride, uninitialized);
    std::vector<double> shifts(std::size_t(A.batch_count()), 0.0);
    kernel_t<T> const* const values = kernel_pointer(A.values().data());
    kernel_t<T>* const to = kernel_pointer(L.data());
    detail::for_batch_items(A.batch_count(), [&](index_t b) {
      buffer<index_t> place(A.cols(), uninitialized);
      std::fill(place.begin(), place.end(), index_t(-1));
      for (double& s = shifts[std::size_t(b)];; s = s > 0 ? 2 * s : shift) {
        detail::copy_lower<P>(A.pattern(), values + b * A.batch_stride(), layout, s, to + b * stride);
        index_t const row = detail::factor_lower<P>(layout, to + b * stride, place);
        if (row < 0) return;
        if (shift == 0 || s > largest_shift) refuse(row, b, s);
      }
    });
    double const most = shifts.empty() ? 0 : *std::max_element(shifts.begin(), shifts.end());
    return {std::move(L), most > 0 ? text(", shift ", most) : ""};
  }

private:
  /// Beyond it the diagonal is all that counts: it is not positive.
  static constexpr double largest_shift = 1e6;

  template <class = void>
  [[noreturn]] static void refuse(index_t row, index_t item, double tried) {
    throw detail::numbered_error("ic0: the pivot of row ", detail::row_number{row}, item > 0 ? text(" of batch item ", item) : "", " is not positive",
                                 tried > 0 ? text(" even with a shift of ", tried, ": A is not positive definite; use ilu0 or lu")
                                 : "; shift the diagonal, ic0{.shift = 1e-3}, or use ilu0 or lu");
  }
};

} // namespace sla
