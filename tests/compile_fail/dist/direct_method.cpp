// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the rows of A are sharded over ranks, and direct methods factor a matrix that one rank holds
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;

void f(Rows const& A, Column const& b) {
#ifdef FIXED
  (void)solve(A, b, gmres{}, ilu0{});
#else
  (void)solve(A, b, lu{});
#endif
}
int main() {}
