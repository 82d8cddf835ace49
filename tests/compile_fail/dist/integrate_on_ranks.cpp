// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: it does not run on ranks or devices
#include <sla/dist.hpp>
#include <sla/integrate.hpp>

using namespace sla;
using Column = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

bool f(Column const& u) {
  auto const decay = [](auto const& v, double) { return -1.0 * v; };
#ifdef FIXED
  return integrate(decay, gather(u), {0.0, 1.0}, theta{}).report.converged();
#else
  return integrate(decay, u, {0.0, 1.0}, theta{}).report.converged();
#endif
}
int main() {}
