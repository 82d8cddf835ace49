// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the columns of a block are spread over ranks
#include <sla/dist/solve/mesh_space.hpp>

using namespace sla;
using Rows = mesh<axis<"rows">>;
using Space_ = mesh_space<Rows, false, true>;

#ifdef FIXED
using Block_ = dtensor<tensor<double, Extents<dyn, 4>>, Rows, Shard<0, Part<>>>;
#else
using Block_ = dtensor<tensor<double, Extents<dyn, 4>>, Rows, Shard<1>>;
#endif

auto products(Space_& space, Block_ const& V) { return fuse(space, gram_of(V, V)); }
int main() {}
