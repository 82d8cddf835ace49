// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a view to solve with is transpose\(D\) or adjoint\(D\)
#include <sla/dist/solve.hpp>
#include <sla/solve.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;

void f(Rows const& A, Column const& b) {
#ifdef FIXED
  (void)solve(adjoint(A), b, gmres{}, jacobi{});
#else
  (void)solve(conj(A), b, gmres{}, jacobi{});
#endif
}
int main() {}
