// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E19\]: the vector does not match the partition of the sparse operand.*a solve wants rows
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"line">>;
template <class P>
using Matrix_by = dsparse_tensor<sparse_tensor<double>, Mesh, P>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;

void f(Matrix_by<SparseShard<1>> const& A, Column const& b) {
#ifdef FIXED
  (void)solve(transposed(A), b, gmres{}, ilu0{});
#else
  (void)solve(A, b, gmres{}, ilu0{});
#endif
}
int main() {}
