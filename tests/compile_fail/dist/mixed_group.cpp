// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E15\]: axes that would become others together hold different things
#include <sla/dist/view/reinterpret_mesh.hpp>

using namespace sla;
using Two = mesh<axis<"dp", 2>, axis<"cp", 2>>;
using One = mesh<axis<"dp_cp", 4>>;

#ifdef FIXED
auto f(dtensor<vector<double>, Two, Shard<0>, Shard<0>> const& x, One const& m) { return reinterpret_mesh(x, m); }
#else
auto f(dtensor<vector<double>, Two, Shard<0>, Replicate> const& x, One const& m) { return reinterpret_mesh(x, m); }
#endif
int main() {}
