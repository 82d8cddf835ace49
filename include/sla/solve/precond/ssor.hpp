// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric successive over-relaxation, SSOR (Young 1971; Saad, Iterative Methods for Sparse Linear Systems, section 10.2):
// a sweep down the rows of A and one up; nothing is factored but diagonal blocks.
#pragma once

#include <utility>

#include <sla/solve/precond/triangles.hpp>
#include <sla/solve/seam/numbered_error.hpp>

namespace sla {

/// `solve(A, b, cg{}, ssor{.omega = 1.2})`: M^-1 = (D / omega + L) (omega / (2 - omega)) D^-1 (D / omega + U), where D is the
/// diagonal of A (its diagonal blocks), L and U what is below and above. With omega = 1, symmetric Gauss-Seidel; Hermitian
/// definite where A is. Setup: one pass over A, memory of A's values once more. Cost: these are read once per application, for
/// all right-hand sides; batch items in parallel, rows in order.
/// Errors: value_error where omega is outside of (0, 2), and naming the row whose diagonal block is singular or not stored.
struct ssor {
  double omega = 1;

  using preconditioner_tag = void;
  static constexpr char const* name = "ssor";
  static constexpr bool one_triangle = false;

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    if (!(omega > 0 && omega < 2))
      throw value_error(text("ssor{.omega = ", omega, "}: omega is greater than 0 and less than 2; 1 is a symmetric Gauss-Seidel sweep"));
    return applied_triangles<ssor, T, S, F>(*this, A);
  }
  /// The product again as L U with a unit of L: omega L D^-1 below, (D + omega U) / (omega (2 - omega)) on and above.
  template <class T, class S, class F, class Layout>
  detail::triangle_values<T> fill(sparse_tensor<T, S, F> const& A, Layout const& layout) const {
    constexpr index_t P = S::block_rows, PP = P * P;
    using K = kernel_t<T>;
    auto const& ptr = layout.pattern->row_ptr;
    auto const& diagonal = layout.diagonal;
    K const beside = K(real_t<T>(1 / (2 - omega))), on = K(real_t<T>(omega * (2 - omega)));
    auto scale = [](K* a, index_t count, K by) {
      for (index_t n = 0; n < count; ++n) a[n] = a[n] * by;
    };
    buffer<T> values = A.values();
    for (index_t b = 0; b < A.batch_count(); ++b) {
      K* const a = kernel_pointer(values.data()) + b * A.batch_stride();
      index_t const singular = detail::first_where(A.rows(), [&](index_t i) {
        K* const d = a + index_t(diagonal[i]) * PP;
        bool const regular = detail::invert<P>(d);
        if (regular) scale(d, PP, on);
        return !regular;
      });
      if (singular >= 0)
        throw detail::numbered_error("ssor: the diagonal ", P > 1 ? "block" : "entry", " of row ", detail::row_number{singular}, b > 0 ? text(" of batch item ", b) : "",
                                     P > 1 ? " is singular" : " is zero", "; permute rows so that none is, or use lu");
      parallel_ranges(A.rows(), [&](index_t lo, index_t hi) {
        for (index_t i = lo; i < hi; ++i) {
          for (index_t s = ptr[i]; s < diagonal[i]; ++s)
            detail::multiply_right<P, false>(a + s * PP, a + index_t(diagonal[layout.pattern->col[s]]) * PP);
          index_t const d = diagonal[i], first = ptr[i], last = ptr[i + 1];
          scale(a + first * PP, (d - first) * PP, beside);
          scale(a + (d + 1) * PP, (last - d - 1) * PP, beside);
        }
      });
    }
    return {std::move(values), {}};
  }
};

} // namespace sla
