// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E30\]
#include <sla/dist/step/flat_steps.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 2>>;
#ifdef FIXED
using Rows = dtensor<vector<double>, Mesh, Shard<0>, Shard<0>>;
#else
using Rows = dtensor<vector<double>, Mesh, Shard<0, Balanced>, Shard<0, Balanced>>;
#endif

auto f(Rows const& x) { return all_gather<flat<"dp", "tp">>(x); }
int main() {}
