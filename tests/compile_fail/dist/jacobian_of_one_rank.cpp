// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: with jacobian_on.D. u0 is a vector on ranks that lies as the rows of D
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Rows = dsparse_tensor<sparse_tensor<double>, mesh<axis<"rows">>, SparseShard<0, Part<>>>;

bool f([[maybe_unused]] Rows const& D, vector<double> const& u) {
  auto const F = [](auto const& v) { return exp(v) - 2.0; };
#ifdef FIXED
  return nonlinear_solve(F, u, newton{}).report.converged();
#else
  return nonlinear_solve(F, u, newton{}, jacobian_on(D)).report.converged();
#endif
}
int main() {}
