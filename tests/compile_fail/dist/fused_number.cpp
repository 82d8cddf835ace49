// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a number is no statement.*in it write dot_of
#include <sla/dist/solve/mesh_space.hpp>

using namespace sla;
using Rows = mesh<axis<"rows">>;
using Space_ = mesh_space<Rows, false, true>;
using Column = dtensor<vector<double>, Rows, Shard<0, Part<>>>;

auto squared_length(Space_& space, Column const& x) {
#ifdef FIXED
  auto [xx, length] = fuse(space, dot_of(x, x), norm_of(x));
#else
  auto [xx, length] = fuse(space, dot(x, x), norm_of(x));
#endif
  return xx;
}
int main() {}
