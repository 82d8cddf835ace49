// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the plan of this call, the first type below, is not the expected one
#include <sla/dist/auto_plan.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using Rows = dtensor<vector<double>, Mesh, Replicate, Shard<0>>;
using Whole = dtensor<vector<double>, Mesh, Replicate, Replicate>;

void f(Rows const& x, Whole const& y) {
#ifdef FIXED
  using Golden = Plan<Arg<0>, Arg<1, Convert<Replicate, Shard<0>, "tp">>, Apply<op::add>, Result<>>;
#else
  using Golden = Plan<Arg<0, AllGather<Shard<0>, Replicate, "tp">>, Arg<1>, Apply<op::add>, Result<>>;
#endif
  (void)auto_plan<op::add, Expect<Golden>>(x, y);
}
int main() {}
