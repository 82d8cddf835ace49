// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: the plan of this redistribution depends on sizes that the types leave open, and so does the schedule
#include <sla/dist/plan/redistribute.hpp>

using namespace sla;
using Cluster = mesh<axis<"node", 2>, axis<"gpu", 4>>;
template <>
inline constexpr topology sla::topology_of<Cluster> = two_level(1);
template <index_t N>
using Envelope = outline<shape_only<double, Extents<N, N>>, Cluster, Shard<0>, Shard<0>>;
#ifdef FIXED
using Sent = Envelope<64>;
#else
using Sent = Envelope<dyn>;
#endif

// as a schedule calls it
void schedule(Sent const& x) { (void)redistribute<Replicate, Replicate>(x); }
int main() {}
