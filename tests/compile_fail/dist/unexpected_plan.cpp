// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the plan of this call, the first type below, is not the expected one
#include <sla/dist/plan/auto_plan.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using Rows = dtensor<vector<double>, Mesh, Replicate, Shard<0>>;
using Whole = dtensor<vector<double>, Mesh, Replicate, Replicate>;

void f(Rows const& x, Whole const& y) {
#ifdef FIXED
  using Golden = plans::Plan<plans::Arg<0>, plans::Arg<1, plans::Convert<Replicate, Shard<0>, "tp">>, plans::Apply<op::add>, plans::Result<>>;
#else
  using Golden = plans::Plan<plans::Arg<0, plans::AllGather<Shard<0>, Replicate, "tp">>, plans::Arg<1>, plans::Apply<op::add>, plans::Result<>>;
#endif
  (void)auto_plan<op::add, plans::Expect<Golden>>(x, y);
}
int main() {}
