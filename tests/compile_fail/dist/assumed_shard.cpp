// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E12\]: an assumption says more about a value
#include <sla/dist/view/assume.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
template <class P>
using X = dtensor<vector<double>, Mesh, P>;

#ifdef FIXED
auto f(X<Varying> const& x) { return assume<"tp", Shard<0>>(x); }
#else
auto f(X<Replicate> const& x) { return assume<"tp", Shard<0>>(x); }
#endif
int main() {}
