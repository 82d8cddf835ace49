// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Incomplete LU factorisation without fill, ILU(0) (Meijerink and van der Vorst 1977; Saad, Iterative Methods for Sparse
// Linear Systems, algorithm 10.4), for scalar and block entries. Applying it is two sweeps over the rows: a whole node.
#pragma once

#include <memory>
#include <utility>

#include <sla/solve/precond/little.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/tensor/borrow.hpp>
#include <sla/tensor/entries.hpp>

namespace sla {

namespace detail {
/// L and U in place of A, as sweeps see them: the unit of L is not stored, the diagonal blocks of U are stored inverted.
template <class T, class Col, class Ptr, index_t P>
struct ilu0_view {
  csr_view<Col, Ptr> pattern;
  T const* values;
  Ptr const* diagonal;
  index_t batch, slots;

  /// out = (L U)^-1 x, or its adjoint, for `rhs` right-hand sides that are swept together.
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    for_batch_items(batch, [&](index_t b) {
      index_t const first = b * pattern.rows * P * rhs;
      if constexpr (Adjoint)
        sweep_adjoint(values + b * slots * P * P, x + first, out + first, rhs);
      else
        sweep_item(values + b * slots * P * P, x + first, out + first, rhs);
    });
  }

 private:
  template <class X, class Out>
  void sweep_item(T const* a, X const* x, Out* out, index_t rhs) const {
    for (index_t i = 0; i < pattern.rows; ++i) {
      Out* const y = out + i * P * rhs;
      for (index_t n = 0; n < P * rhs; ++n) y[n] = scalar_cast<Out>(x[i * P * rhs + n]);
      for (index_t s = pattern.row_ptr[i]; s < diagonal[i]; ++s)
        subtract_product<P, false>(a + s * P * P, out + index_t(pattern.col[s]) * P * rhs, y, rhs);
    }
    for (index_t i = pattern.rows; i-- > 0;) {
      Out* const y = out + i * P * rhs;
      for (index_t s = diagonal[i] + 1; s < pattern.row_ptr[i + 1]; ++s)
        subtract_product<P, false>(a + s * P * P, out + index_t(pattern.col[s]) * P * rhs, y, rhs);
      multiply_in_place<P, false>(a + diagonal[i] * P * P, y, rhs);
    }
  }
  /// U^H then L^H: rows scatter, what they would gather in a stored transpose.
  template <class X, class Out>
  void sweep_adjoint(T const* a, X const* x, Out* out, index_t rhs) const {
    for (index_t n = 0; n < pattern.rows * P * rhs; ++n) out[n] = scalar_cast<Out>(x[n]);
    for (index_t i = 0; i < pattern.rows; ++i) {
      Out* const y = out + i * P * rhs;
      multiply_in_place<P, true>(a + diagonal[i] * P * P, y, rhs);
      for (index_t s = diagonal[i] + 1; s < pattern.row_ptr[i + 1]; ++s)
        subtract_product<P, true>(a + s * P * P, y, out + index_t(pattern.col[s]) * P * rhs, rhs);
    }
    for (index_t i = pattern.rows; i-- > 0;)
      for (index_t s = pattern.row_ptr[i]; s < diagonal[i]; ++s)
        subtract_product<P, true>(a + s * P * P, out + i * P * rhs, out + index_t(pattern.col[s]) * P * rhs, rhs);
  }
};
}  // namespace detail

/// (L U)^-1: `z = M * r`; `M.adjoint() * r` is (L U)^-H r. Made by `ilu0{}.setup(A)`.
template <class T, class S, class F, bool Adjoint = false>
class applied_ilu0 {
  static constexpr index_t P = S::block_rows;
  using Csr = csr_for_t<F>;
  using Col = typename Csr::col_type;
  using Ptr = typename Csr::ptr_type;

 public:
  using value_type = T;
  using shape_type = S;

  explicit applied_ilu0(sparse_tensor<T, S, F> const& A) { update(A); }

  /// The adjoint shares the factors; it sees later updates of neither.
  applied_ilu0<T, S, F, !Adjoint> adjoint() const { return {factors_, diagonal_}; }

  /// New values, on the same pattern or another one.
  void update(sparse_tensor<T, S, F> const& A) {
    auto LU = std::make_shared<sparse_tensor<T, S, Csr>>(sorted_rows(A));
    if (!diagonal_ || !factors_ || !same_numbers(LU->pattern().col, factors_->pattern().col) ||
        !same_numbers(LU->pattern().row_ptr, factors_->pattern().row_ptr))
      diagonal_ = find_diagonal(LU->pattern());
    kernel_t<T>* const values = kernel_pointer(LU->values().data());
    detail::for_batch_items(LU->batch_count(), [&](index_t b) {
      buffer<index_t> place(LU->cols(), uninitialized);
      std::fill(place.begin(), place.end(), index_t(-1));
      for (index_t i = 0; i < LU->rows(); ++i) eliminate(LU->pattern(), values + b * LU->batch_stride(), i, b, place);
    });
    factors_ = std::move(LU);
  }

  detail::ilu0_view<kernel_t<T>, Col, Ptr, P> lower() const {
    return {factors_->pattern().view(), kernel_pointer(std::as_const(*factors_).values().data()), diagonal_->data(),
            factors_->batch_count(), factors_->pattern().slots()};
  }
  index_t rows() const { return factors_->rows(); }

  applied_ilu0(std::shared_ptr<sparse_tensor<T, S, Csr> const> factors, std::shared_ptr<buffer<Ptr> const> diagonal)
      : factors_(std::move(factors)), diagonal_(std::move(diagonal)) {}

 private:
  using pattern_type = typename Csr::template pattern<host_memory>;

  static sparse_tensor<T, S, Csr> sorted_rows(sparse_tensor<T, S, F> const& A) {
    if constexpr (std::same_as<F, Csr>)
      return has_sorted_columns(A.pattern()) ? A : sorted(A);
    else
      return sorted_rows_of(to<Csr>(A));
  }
  static sparse_tensor<T, S, Csr> sorted_rows_of(sparse_tensor<T, S, Csr> A) { return has_sorted_columns(A.pattern()) ? A : sorted(A); }

  template <class Int>
  static bool same_numbers(buffer<Int> const& a, buffer<Int> const& b) {
    return a.data() == b.data() && a.size() == b.size();
  }
  static std::shared_ptr<buffer<Ptr> const> find_diagonal(pattern_type const& pattern) {
    auto slots = diagonal_positions(pattern);
    auto diagonal = std::make_shared<buffer<Ptr>>(slots.size(), uninitialized);
    for (index_t i = 0; i < slots.size(); ++i) {
      if (slots[i] < 0)
        throw value_error(text("ilu0: row ", i, " has no diagonal entry; store it, permute rows so that each has one, or use lu"));
      (*diagonal)[i] = Ptr(slots[i]);
    }
    return diagonal;
  }

  /// Row i of L and U from the rows above it; `place` maps columns to the slots of the row.
  void eliminate(pattern_type const& pattern, kernel_t<T>* a, index_t i, index_t item, buffer<index_t>& place) const {
    constexpr index_t PP = P * P;
    auto const& ptr = pattern.row_ptr;
    auto const& col = pattern.col;
    for (index_t s = ptr[i]; s < ptr[i + 1]; ++s) place[col[s]] = s;
    for (index_t s = ptr[i]; s < (*diagonal_)[i]; ++s) {
      index_t const k = col[s];
      detail::multiply_right<P>(a + s * PP, a + index_t((*diagonal_)[k]) * PP);  // L_ik = A_ik U_kk^-1
      for (index_t u = (*diagonal_)[k] + 1; u < ptr[k + 1]; ++u)
        if (index_t const at = place[col[u]]; at >= 0) detail::subtract_product<P, false>(a + s * PP, a + u * PP, a + at * PP, P);
    }
    for (index_t s = ptr[i]; s < ptr[i + 1]; ++s) place[col[s]] = -1;
    if (!detail::invert<P>(a + index_t((*diagonal_)[i]) * PP))
      throw value_error(text("ilu0: zero pivot in row ", i, item > 0 ? text(" of batch item ", item) : "",
                             "; the factorisation without fill does not exist: permute rows, or use jacobi or lu"));
  }

  std::shared_ptr<sparse_tensor<T, S, Csr> const> factors_;
  std::shared_ptr<buffer<Ptr> const> diagonal_;
};

template <class T, class S, class F, bool Adjoint, Tensorial X>
auto operator*(applied_ilu0<T, S, F, Adjoint> const& M, X&& x) {
  using XE = typename node_t<X>::extents_type;
  constexpr int rank = range_extents_t<S>::rank;
  static_assert(XE::rank == rank || XE::rank == rank + 1, "sla: ilu0 * x: x has the shape of the matrix's range, plus at most one axis of right-hand sides");
  auto node = as_node(std::forward<X>(x));
  auto const factors = M.lower();
  index_t const rhs = XE::rank == rank ? 1 : node.extents()[XE::rank - 1], wanted = factors.batch * factors.pattern.rows * S::block_rows * rhs;
  if (node.extents().total() != wanted)
    throw shape_error(text("ilu0 * x: the factors are of ", factors.pattern.rows, " rows, x is ", to_string(node.extents())));
  return sweep_node<std::remove_const_t<decltype(factors)>, Adjoint, decltype(node)>{factors, std::move(node), rhs};
}

/// `solve(A, b, gmres{}, ilu0{})`. Setup: O(sum over rows of L entries times U entries), memory of A's values once more.
/// Cost: the factors are read once per application, for all right-hand sides; batch items in parallel, rows in order.
/// Errors: value_error naming the row whose pivot is zero or not stored.
struct ilu0 {
  using preconditioner_tag = void;
  static constexpr char const* name = "ilu0";

  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: ilu0 wants a square matrix: square blocks too");
    return applied_ilu0<T, S, F>(A);
  }
};

}  // namespace sla
