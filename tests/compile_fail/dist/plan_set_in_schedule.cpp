// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the plan of this call depends on sizes that the types leave open, and so does the schedule
#include <sla/dist/plan/auto_plan.hpp>

using namespace sla;
using Nodes = mesh<axis<"host", 2>, axis<"device", 4>>;
template <>
inline constexpr topology sla::topology_of<Nodes> = two_level(1);
template <index_t N>
using Added = outline<shape_only<double, Extents<N, N>>, Nodes, Shard<0>, Shard<0>>;
#ifdef FIXED
using Term = Added<64>;
#else
using Term = Added<dyn>;
#endif

// as a schedule calls it
void planned(Term const& x) { (void)auto_plan<op::add, To<Replicate, Replicate>>(x, x); }
int main() {}
