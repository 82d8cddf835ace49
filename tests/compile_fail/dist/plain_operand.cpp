// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E35\]: an operand has no placement
#include <sla/dist/assembly/distribute.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Sharded = dtensor<vector<double>, Mesh, Shard<0>>;

void f(Sharded const& x, vector<double> const& b) {
#ifdef FIXED
  (void)(x - distribute(b, x.layout()));
#else
  (void)(x - b);
#endif
}
int main() {}
