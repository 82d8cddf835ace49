// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Sum and an Avg of what cannot be sharded, on a mesh that asks for equal bits.
// expect-error: sla\[E16\]: no steps that leave equal bits on all ranks
#include <sla/dist/plan/redistribute.hpp>

using namespace sla;
using Grid = mesh<axis<"row", 2>, axis<"column", 4>>;
template <>
inline constexpr topology sla::topology_of<Grid> = [] {
  topology t;
  t.bitwise_replicated = true;
  return t;
}();

#ifdef FIXED
using Second = Partial<Sum>;
#else
using Second = Partial<Avg>;
#endif

auto completed(dtensor<tensor<double, Extents<3>>, Grid, Partial<Sum>, Second> const& x) { return redistribute<Replicate, Replicate>(x); }
int main() {}
