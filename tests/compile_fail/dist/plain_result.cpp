// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E28\]: local_map: the body returns what is not distributed: return what operations on its arguments give
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 2>>;

auto f(dtensor<vector<double>, Mesh, Replicate, Shard<0>> const& x) {
#ifdef FIXED
  return local_map<inputs<infer>, outputs<placements<Replicate, Shard<0>>>>([](auto const& part) { return eval(2.0 * part); })(x);
#else
  return local_map<inputs<infer>, outputs<placements<Replicate, Shard<0>>>>([](auto const& part) { return vector<double>(2.0 * part.local()); })(x);
#endif
}
int main() {}
