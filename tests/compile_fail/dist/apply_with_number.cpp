// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E24\]: a run-time number has no placement
#include <sla/dist.hpp>

using namespace sla;
using Rows = dtensor<vector<double>, mesh<axis<"tp", 4>>, Shard<0>>;

auto f(Rows const& x, double s) {
  auto const scaled = [](auto a, auto b) { return a * b; };
#ifdef FIXED
  return eval(apply(scaled, x, uniform(s)));
#else
  return eval(apply(scaled, x, s));
#endif
}
int main() {}
