// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: reduce_scatter<axis, Shard<d>>\(x\): name the axis of the mesh
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Pending = dtensor<vector<double>, Mesh, Partial<>>;

auto f(Pending const& p) {
#ifdef FIXED
  return reduce_scatter<"tp", Shard<0>>(p);
#else
  return reduce_scatter(p);
#endif
}
int main() {}
