// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: picks a method for sparse tensors in host memory; here, name one: solve\(A, b, gmres{}\); on ranks also a preconditioner: solve\(D, db, cg{}, jacobi{}\)
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;

void f(Rows const& A, Column const& b) {
#ifdef FIXED
  (void)solve(A, b, cg{}, jacobi{});
#else
  (void)solve(A, b);
#endif
}
int main() {}
