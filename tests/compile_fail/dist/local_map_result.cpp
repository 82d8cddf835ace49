// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E28\]: local_map: the body's result \(below\) cannot be what outputs<...> says: a Varying may be a Shard or a Partial, anything else is itself
#include <sla/dist/view/local_map.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;

#ifdef FIXED
using Says = outputs<Shard<0>>;
#else
using Says = outputs<Replicate>;
#endif

auto f(dtensor<vector<double>, Mesh, Shard<0>> const& x) {
  return local_map<inputs<infer>, Says>([](auto const& part) { return 2.0 * part; })(x);
}
int main() {}
