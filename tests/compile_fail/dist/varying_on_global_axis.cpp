// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E33\]: a Varying on a global axis
#include <sla/dist/value/distributed.hpp>

using namespace sla;
using Mesh = mesh<mesh_policy<local_axes<"dp">>, axis<"dp", 2>, axis<"tp", 4>>;

#ifdef FIXED
int f(dtensor<vector<double>, Mesh, Varying, Shard<0>> const& x) { return x.local().rank; }
#else
int f(dtensor<vector<double>, Mesh, Varying, Varying> const& x) { return x.local().rank; }
#endif
int main() {}
