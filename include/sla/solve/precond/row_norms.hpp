// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scaling by the norms of rows: M = N^-1, where N_i is the 2-norm of row i. Positive definite whatever A is, as MINRES wants
// its preconditioner. Pointwise, so that it costs no pass of its own.
#pragma once

#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla {

namespace detail {
/// 1 / |a_i| for each row, (*batch, M, p); 1 for a row of zeros.
template <class T, class S, class F>
tensor<T, range_extents_t<S>> inverse_row_norms(sparse_tensor<T, S, F> const& A) {
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  tensor<T, range_extents_t<S>> out(A.range(), uninitialized);
  auto const pattern = A.pattern().view();
  for (index_t b = 0; b < A.batch_count(); ++b)
    parallel_ranges(A.rows(), [&, to = out.data() + b * A.rows() * P,
                               values = kernel_pointer(A.values().data()) + b * A.batch_stride()](index_t lo, index_t hi) {
      for (index_t r = lo * P; r < hi * P; ++r) {
        double squares = 0;
        pattern.for_row(r / P, [&](index_t s, index_t) {
          for (index_t c = 0; c < Q; ++c) squares += double(abs2_of(values[(s * P + r % P) * Q + c]));
        });
        to[r] = T(real_t<T>(squares > 0 ? 1 / std::sqrt(squares) : 1.0));
      }
    });
  return out;
}
} // namespace detail

/// N^-1 of a matrix: `z = M * r`. Made by `row_norms{}.setup(A)`.
template <class T, class S, class F>
class applied_row_norms : public applied_jacobi<T, range_extents_t<S>> {
  using base = applied_jacobi<T, range_extents_t<S>>;

public:
  explicit applied_row_norms(sparse_tensor<T, S, F> const& A) : base(detail::inverse_row_norms(A), A.batch_count(), S::block_rows) {}
  applied_row_norms adjoint() const { return *this; }

  /// New values on the same pattern.
  void update(sparse_tensor<T, S, F> const& A) { *this = applied_row_norms(A); }
};

/// `solve(A, b, minres{}, row_norms{})`. Setup: one pass over A. Cost: 8 bytes per unknown and application.
struct row_norms {
  using preconditioner_tag = void;
  static constexpr char const* name = "row_norms";

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: row_norms wants a square matrix: square blocks too");
    return applied_row_norms<T, S, F>(A);
  }
};

} // namespace sla
