// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the plan of this redistribution depends on sizes that the types leave open, and so does the schedule
#include <sla/dist/plan/redistribute.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <>
inline constexpr topology sla::topology_of<Mesh> = two_level(1);
template <index_t N>
using Square = outline<shape_only<double, Extents<N, N>>, Mesh, Shard<0>, Shard<0>>;
#ifdef FIXED
using X = Square<64>;
#else
using X = Square<dyn>;
#endif

// as a schedule calls it
void f(X const& x) { (void)redistribute<Replicate, Replicate>(x); }
int main() {}
