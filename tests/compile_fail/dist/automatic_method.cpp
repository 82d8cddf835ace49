// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: picks a method for sparse tensors in host memory, on ranks for those by rows; here, name one: solve\(A, b, gmres{}\); on ranks also a preconditioner: solve\(D, db, cg{}, jacobi{}\)
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Columns = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<1, Part<>>>;

void f(Columns const& A) {
  auto const b = generate(A.row_layout(), [](index_t) { return 1.0; });
#ifdef FIXED
  (void)solve(A, b, cg{}, jacobi{});
#else
  (void)solve(A, b);
#endif
}
int main() {}
