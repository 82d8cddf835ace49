// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: without a method picks one for A by rows, and no rank has whole rows of this one \(columns, rectangles, entries\): name a method and a preconditioner of each rank's own block, solve\(A, b, cg{}, jacobi{}\)
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
