// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Jacobi preconditioner: M = D^-1, the inverse of the diagonal (the scalar diagonal of blocks). Pointwise, so that it
// costs no pass of its own.
#pragma once

#include <utility>

#include <sla/expr/dense/ops.hpp>
#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

/// 1 / diagonal of A, (*batch, M, p), for whom a message should name. Of matrices in other memories it is read there, checked and inverted
/// on the host. Errors: value_error naming the row whose diagonal entry is zero or missing.
template <class T, class S, class F, class Memory>
tensor<T, range_extents_t<S>, Memory> inverse_of_diagonal(sparse_tensor<T, S, F, Memory> const& A, char const* who) {
  tensor<T, range_extents_t<S>> d = [&] {
    if constexpr (Memory::is_host)
      return diagonal_of(A);
    else
      return to<host_memory>(diagonal_of(A));
  }();
  index_t const zero = detail::first_where(d.size(), [&](index_t n) { return d[n] == T(0); });
  if (zero >= 0) {
    index_t const row = zero / S::block_rows % A.rows(), item = zero / S::block_rows / A.rows();
    throw detail::numbered_error(who, ": the diagonal entry of row ", detail::row_number{row}, S::block_rows > 1 ? text(", component ", zero % S::block_rows) : "",
                                 item > 0 ? text(", of batch item ", item) : "",
                                 " is zero or not stored; permute rows so that none is, use ilu0 or lu, or no preconditioner: identity{}");
  }
  parallel_ranges(d.size(), [&, p = kernel_pointer(d.data())](index_t lo, index_t hi) {
    for (index_t n = lo; n < hi; ++n) p[n] = kernel_t<T>(real_t<T>(1)) / p[n];
  });
  if constexpr (Memory::is_host)
    return d;
  else
    return to<Memory>(d);
}

/// D^-1 of a matrix: `z = M * r`, elementwise. Made by `jacobi{}.setup(A)`, or from an inverse diagonal, in any memory.
template <class T, class E, class Memory = host_memory>
class applied_jacobi {
public:
  using value_type = T;
  static constexpr bool reads_diagonal_only = true;

  /// The inverse diagonal, (*batch, M, p), the number of batch items, and p.
  applied_jacobi(tensor<T, E, Memory> inverse, index_t batch, index_t block) : inverse_(std::move(inverse)), batch_(batch), block_(block) {}

  applied_jacobi adjoint() const { return {tensor<T, E, Memory>(conj(inverse_)), batch_, block_}; }

  /// New values on the same pattern.
  template <class S, class F>
  void update(sparse_tensor<T, S, F, Memory> const& A) {
    inverse_ = inverse_of_diagonal(A, "jacobi");
  }

  /// The inverse diagonal, spread over the right-hand sides of x where it has some.
  template <class X>
  auto spread_over(X const& extents) const {
    if constexpr (X::rank == E::rank) {
      return view(inverse_);
    } else {
      index_t const rhs = extents[X::rank - 1], rows = batch_ ? inverse_.size() / batch_ / block_ : 0;
      return broadcast_view<kernel_t<T>, X, Memory>{
          {kernel_pointer(inverse_.data()), extents}, inverse_.size(), {batch_, rows, block_ * rhs, rhs}};
    }
  }

private:
  tensor<T, E, Memory> inverse_;
  index_t batch_, block_;
};

template <class T, class E, class Memory, Tensorial X>
auto operator*(applied_jacobi<T, E, Memory> const& M, X&& x) {
  using XE = typename node_t<X>::extents_type;
  static_assert(XE::rank == E::rank || XE::rank == E::rank + 1, "sla: jacobi * x: x has the shape of the diagonal, plus at most one axis of right-hand sides");
  auto node = as_node(std::forward<X>(x));
  auto const d = M.spread_over(node.extents());
  require_same_extents(d.extents(), node.extents(), "jacobi * x");
  return binary<op::mul, std::remove_const_t<decltype(d)>, decltype(node)>{d, std::move(node)};
}

/// `solve(A, b, cg{}, jacobi{})`. Setup: one pass over A. Cost: 8 bytes per unknown and application (16 with the result).
/// Errors: value_error naming the row whose diagonal entry is zero or missing.
struct jacobi {
  using preconditioner_tag = void;
  static constexpr char const* name = "jacobi";
  static constexpr bool reads_diagonal_only = true;

  template <class T, class S, class F, class Memory>
  auto setup(sparse_tensor<T, S, F, Memory> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: jacobi wants a square matrix: square blocks too");
    return applied_jacobi<T, range_extents_t<S>, Memory>(inverse_of_diagonal(A, name), A.batch_count(), S::block_rows);
  }
};

} // namespace sla
