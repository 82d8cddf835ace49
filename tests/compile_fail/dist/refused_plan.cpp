// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E16\]: no redistribution of these operands makes the call legal, or leads to the placements wanted
#include <sla/dist/plan/auto_plan.hpp>
#include <sla/dist/value/reductions.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using X = dtensor<vector<double>, Mesh, Replicate, Shard<0>>;

#ifdef FIXED
using Wanted = To<Replicate, Replicate>;
#else
using Wanted = To<Replicate, Varying>;
#endif
// the refused result stands in a larger expression, which finds no fault of its own
auto f(X const& x, X const& y) {
  auto const sum = auto_plan<op::add, Wanted>(x, y);
  return squared_norm(exp(2.0 * sum) - sum);
}
int main() {}
