// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E16\]: another axis shards the same dimension further inside
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 2>>;

auto f(dtensor<vector<double>, Mesh, Replicate, Shard<0>> const& x) {
#ifdef FIXED
  return convert<"dp", Shard<0, Even, 1>>(x);
#else
  return convert<"dp", Shard<0>>(x);
#endif
}
int main() {}
