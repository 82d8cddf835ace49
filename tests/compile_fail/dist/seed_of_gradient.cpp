// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E37\]: the seed of a gradient has not the placements of the gradient
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Whole = dtensor<vector<double>, Mesh, Replicate>;

void f(Whole const& x, Whole const& g) {
  auto const scaled = [](auto const& v) { return 2.0 * v; };
#ifdef FIXED
  (void)vjp(scaled, std::tie(x), convert<"tp", Partial<>>(g));
#else
  (void)vjp(scaled, std::tie(x), g);
#endif
}
int main() {}
