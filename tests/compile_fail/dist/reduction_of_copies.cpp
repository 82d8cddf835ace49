// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a reduction of values that every rank has, on an axis whose ranks share the system
#include <sla/dist/solve/mesh_space.hpp>

using namespace sla;
using Rows = mesh<axis<"rows">>;
using Space_ = mesh_space<Rows, false, true>;

#ifdef FIXED
using Column = dtensor<vector<double>, Rows, Shard<0, Part<>>>;
#else
using Column = dtensor<vector<double>, Rows, Replicate>;
#endif

auto squared_length(Space_& space, Column const& x) { return fuse(space, squared_norm_of(x)); }
int main() {}
