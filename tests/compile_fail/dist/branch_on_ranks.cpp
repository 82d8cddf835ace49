// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: u is a tensor of one rank in host memory
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Column = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

bool f(Column const& u) {
  auto const F = [](auto const& v, auto const& a) { return a * exp(v) - 2.0; };
#ifdef FIXED
  return trace_branch(F, gather(u), 1.0, arclength{}).report.converged();
#else
  return trace_branch(F, u, 1.0, arclength{}).report.converged();
#endif
}
int main() {}
