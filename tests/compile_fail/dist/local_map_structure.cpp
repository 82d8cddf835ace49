// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E28\]: local_map: a list has one entry per member of the tuple
#include <sla/dist/view/local_map.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;

#ifdef FIXED
using Says = outputs<Shard<0>, nontensor>;
#else
using Says = outputs<Shard<0>, nontensor, nontensor>;
#endif

auto f(dtensor<vector<double>, Mesh, Shard<0>> const& x) {
  return local_map<inputs<infer>, Says>([](auto const& part) { return std::tuple{2.0 * part, 1}; })(x);
}
int main() {}
