// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps along the axes of a mesh of two, on thread ranks. The same under MPI is in mpi/mesh.cpp.
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/mesh.hpp"

namespace test_mesh_room {

using namespace sla;

TEST_CASE("steps along one axis of a mesh, along both, plans and halos are those of the whole") {
  for (int ranks : {1, 3}) CHECK_NOTHROW(threads::run(ranks, [](auto& world) { suite::mesh_room(mesh<axis<"dp">, axis<"tp", 1>>(world)); }));
  for (int ranks : {2, 4, 8}) CHECK_NOTHROW(threads::run(ranks, [](auto& world) { suite::mesh_room(mesh<axis<"dp">, axis<"tp", 2>>(world)); }));
}
} // namespace test_mesh_room
