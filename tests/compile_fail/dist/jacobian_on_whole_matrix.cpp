// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: jacobian_on.D.: D is a sparse matrix that is distributed by rows
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Line = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Line, SparseShard<0, Part<>>>;
using Column = dtensor<vector<double>, Line, Shard<0, Part<>>>;

bool f([[maybe_unused]] sparse_tensor<double> const& A, [[maybe_unused]] Rows const& D, Column const& u) {
  auto const F = [](auto const& v) { return exp(v) - v; };
#ifdef FIXED
  return nonlinear_solve(F, u, newton{}, jacobian_on(D)).report.converged();
#else
  return nonlinear_solve(F, u, newton{}, jacobian_on(A)).report.converged();
#endif
}
int main() {}
