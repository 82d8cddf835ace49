// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: reduce_scatter<axis, To>.x., all_to_all<axis, To>.x.: name after the axis how the result lies
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Pending = dtensor<vector<double>, Mesh, Partial<>>;

auto f(Pending const& p) {
#ifdef FIXED
  return reduce_scatter<"tp", Shard<0>>(p);
#else
  return reduce_scatter<"tp">(p);
#endif
}
int main() {}
