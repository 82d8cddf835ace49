// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E18\]
#include <sla/dist.hpp>

using namespace sla;
using Strict = mesh<mesh_policy<explicit_partial>, axis<"tp", 4>>;
using Sharded = dtensor<vector<double>, Strict, Shard<0>>;

void f(Sharded const& x, Sharded const& y) {
#ifdef FIXED
  (void)eval(perform(out_partial<op::dot, "tp">{}, x, y));
#else
  (void)eval(dot(x, y));
#endif
}
int main() {}
