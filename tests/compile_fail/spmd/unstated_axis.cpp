// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E29\]: nothing is said about an axis of the mesh
#include <sla/spmd.hpp>

using namespace sla;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;

int main() {
#ifdef FIXED
  return sizeof(placements_on_t<Grid, 2, spec<unsharded, "tp">, Replicate>) == 0;
#else
  return sizeof(placements_on_t<Grid, 2, spec<unsharded, "tp">>) == 0;
#endif
}
