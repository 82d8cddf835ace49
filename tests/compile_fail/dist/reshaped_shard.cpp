// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E26\]: the reshape merges a dimension that is sharded behind others
#include <sla/dist/view/reshape.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;

#ifdef FIXED
auto f(dtensor<matrix<double>, Mesh, Shard<0>> const& x) { return reshape<"a b -> (a b)">(x); }
#else
auto f(dtensor<matrix<double>, Mesh, Shard<1>> const& x) { return reshape<"a b -> (a b)">(x); }
#endif
int main() {}
