// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: which names the first axes of the mesh
#include <sla/spmd.hpp>

using namespace sla;

int main() {
#ifdef FIXED
  return mesh<mesh_policy<local_axes<"dp">>, axis<"dp", 2>, axis<"tp", 4>>::rank - 2;
#else
  return mesh<mesh_policy<local_axes<"tp">>, axis<"dp", 2>, axis<"tp", 4>>::rank - 2;
#endif
}
