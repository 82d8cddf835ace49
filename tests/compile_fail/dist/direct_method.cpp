// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of matrices on ranks direct methods factor those sharded by rows, without a batch, in host memory
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double, Shape<Batch<2>, dyn, dyn, Block<>>>, Mesh, SparseShard<0, Part<>>>;
using Column = dtensor<tensor<double, Extents<2, dyn>>, Mesh, Shard<1, Part<>>>;

void f(Rows const& A, Column const& b) {
#ifdef FIXED
  (void)solve(A, b, gmres{}, ilu0{});
#else
  (void)solve(A, b, lu{});
#endif
}
int main() {}
