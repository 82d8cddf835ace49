// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E16\]
#include <sla/dist/step/flat_steps.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 2>>;
using Rows = dtensor<vector<double>, Mesh, Shard<0>, Shard<0>>;

auto f(Rows const& x) {
#ifdef FIXED
  return all_gather<flat<"dp", "tp">>(x);
#else
  return all_gather<flat<"tp", "dp">>(x);
#endif
}
int main() {}
