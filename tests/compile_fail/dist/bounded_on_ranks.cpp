// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: u is a tensor of one rank in host memory
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Column = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

bool f(Column const& u) {
  auto const F = [](auto const& v) { return exp(v) - 2.0; };
#ifdef FIXED
  return solve_bounded(F, gather(u), lower{0.0}, active_set{}).report.converged();
#else
  return solve_bounded(F, u, lower{0.0}, active_set{}).report.converged();
#endif
}
int main() {}
