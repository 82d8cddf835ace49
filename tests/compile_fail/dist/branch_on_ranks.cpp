// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a vector on ranks that is Shard on every axis
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Whole = dtensor<vector<double>, mesh<axis<"parts">>, Replicate>;

bool f(Whole const& u) {
  auto const F = [](auto const& v, auto const& a) { return a * exp(v) - 2.0; };
#ifdef FIXED
  return trace_branch(F, convert<"parts", Shard<0>>(u), 1.0, arclength{}).report.converged();
#else
  return trace_branch(F, u, 1.0, arclength{}).report.converged();
#endif
}
int main() {}
