// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one on ranks that is Shard on every axis
#include <sla/dist.hpp>
#include <sla/integrate.hpp>

using namespace sla;
using Whole = dtensor<vector<double>, mesh<axis<"rows">>, Replicate>;

bool f(Whole const& u) {
  auto const decay = [](auto const& v, double) { return -1.0 * v; };
#ifdef FIXED
  return integrate(decay, convert<"rows", Shard<0>>(u), {0.0, 1.0}, theta{}).report.converged();
#else
  return integrate(decay, u, {0.0, 1.0}, theta{}).report.converged();
#endif
}
int main() {}
