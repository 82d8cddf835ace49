// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps along the axes of a mesh of two, on MPI ranks: what dist/mesh_room.cpp asserts of thread ranks.
#include <sla/adapter/mpi.hpp>

#include "expect.hpp"
#include "suites/mesh.hpp"

using namespace sla;

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  auto world = environment.world();
  if (world.size() % 2 == 0)
    suite::mesh_room(mesh<axis<"dp">, axis<"tp", 2>>(world));
  else
    suite::mesh_room(mesh<axis<"dp">, axis<"tp", 1>>(world));
  if (world.size() == 4) suite::one_half_alone(mesh<axis<"pp", 2>, axis<"dp">, axis<"tp", 1>>(world));
  return failures();
}
