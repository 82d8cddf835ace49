// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E16\]: no steps lead from the placements of the value to these
#include <sla/dist/plan/redistribute.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using Sharded = dtensor<vector<double>, Mesh, Replicate, Shard<0>>;

void f(Sharded const& x) {
#ifdef FIXED
  (void)redistribute<Partial<>, Replicate>(x);
#else
  (void)redistribute<Replicate, Partial<>>(x);
#endif
}
int main() {}
