// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders of rows and columns for sparse factors: `permuted(A, amd(A))`. Narrow bands are those of rcm(A), in
// tensor/structure/ordering.hpp; vectors in such an order are in solve/direct/eliminate.hpp.
#pragma once

#include <vector>

#include <sla/solve/direct/eliminate.hpp>
#include <sla/solve/direct/factors.hpp>
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

} // namespace sla
