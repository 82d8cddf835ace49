// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla.E35.: an operand has no placement
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Line = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Line, SparseShard<0, Part<>>>;

bool f(Rows const& D, vector<double> const& u0) {
  auto const F = [&](auto const& u) { return D * u; };
#ifdef FIXED
  return nonlinear_solve(F, distribute(u0, D.row_layout()), newton{}).report.converged();
#else
  return nonlinear_solve(F, u0, newton{}).report.converged();
#endif
}
int main() {}
