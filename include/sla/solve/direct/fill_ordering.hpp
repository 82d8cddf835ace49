// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of rows and columns for sparse factors: `permuted(A, amd(A))`, and vectors in such an order. Narrow bands are those of
// rcm(A), in tensor/structure/ordering.hpp.
#pragma once

#include <vector>

#include <sla/solve/direct/eliminate.hpp>
#include <sla/solve/direct/factors.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/structure/ordering.hpp>

namespace sla {

/// The approximate minimum degree order of a square matrix (Eigen's), by its stored pattern and that of its transpose: the Cholesky factor
/// of permuted(A, amd(A)) has few entries. Blocks count as one entry. `cholesky` and `ldlt` order by it themselves: it is for
/// incomplete factors, and for solvers of others.
/// Errors: shape_error, if A is not square, or has more entries than an int counts.
/// Source: Amestoy, Davis, Duff, An approximate minimum degree ordering algorithm (SIMAX 1996).
template <class T, class S, class F>
std::vector<index_t> amd(sparse_tensor<T, S, F> const& A) {
  auto const graph = to<Csr<int>>(detail::undirected(A, "amd"));
  return detail::minimum_degree_order(int(graph.rows()), graph.pattern().row_ptr.data(), graph.pattern().col.data());
}

/// The rows of a vector in the order of those of permuted(A, p): element k is b[p[k]]. b is (M), or (M, n): right-hand sides, or the
/// numbers of a block; an expression, or traced.
///     auto p = rcm(A);   auto x = permuted(solve(permuted(A, p), permuted(b, p)), inverse_permutation(p));   // A x = b
/// Gradient: g in the order back. Cost: that of a product with a matrix of M entries. Errors: index_error, as of permuted(A, p).
template <class B, class P = std::initializer_list<index_t>>
  requires(requires(B const& b) { b.extents()[0]; })
auto permuted(B const& b, P const& p) {
  using R = typename detail::real_of_scalars<B>::type;
  constexpr bool is_column = std::remove_cvref_t<decltype(b.extents())>::rank <= 2;
  static_assert(is_column, "sla: permuted(b, p): b is a vector (M), or (M, n) with right-hand sides or the numbers of blocks; of a batch, permute each item");
  if constexpr (is_column) {
    index_t const rows = b.extents()[0];
    return eval(perform(op::select{}, eye<R>(rows), detail::chosen_permutation(p, rows, "permuted"), detail::all_of(rows)) * b);
  } else {
    return b;
  }
}

} // namespace sla
