// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a vector on ranks that is Shard on every axis
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Whole = dtensor<vector<double>, mesh<axis<"rows">>, Replicate>;

bool f(Whole const& u) {
  auto const F = [](auto const& v) { return exp(v) - 2.0; };
#ifdef FIXED
  return nonlinear_solve(F, convert<"rows", Shard<0>>(u), newton{}).report.converged();
#else
  return nonlinear_solve(F, u, newton{}).report.converged();
#endif
}
int main() {}
