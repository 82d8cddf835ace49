// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: solve\(A, b, method, preconditioner\): this preconditioner asks what others have of the rows of A, and no rank has whole rows
#include <sla/sla.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<1>>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;

auto solved(Operator const& D, Column const& b) {
#ifdef FIXED
  return solve(D, b, gmres{}, ilu0{});
#else
  return solve(D, b, gmres{}, schwarz(ilu0{}));
#endif
}
int main() {}
