// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the expression has other placements than the variable
#include <sla/dist/step/collectives.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Sharded = dtensor<vector<double>, Mesh, Shard<0>>;
using Complete = dtensor<vector<double>, Mesh, Replicate>;

void f(Sharded const& x) {
#ifdef FIXED
  Complete y = all_gather<"tp">(2.0 * x);
#else
  Complete y = 2.0 * x;
#endif
  (void)y;
}
int main() {}
