// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Meshes made from the worlds of each engine: sizes, coordinates, and the communicators of their axes.
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/engine/typed_collectives.hpp>
#include <sla/spmd/mesh/mesh.hpp>

#include "catch.hpp"

namespace test_communicator_mesh {

using Catch::Matchers::ContainsSubstring;
using sla::axis;
using sla::mesh;

TEST_CASE("a mesh of thread ranks has a communicator per axis") {
  sla::threads::run(6, [](auto& world) {
    mesh<axis<"dp", 2>, axis<"tp">> const m(world);
    int const row = world.rank() / 3, column = world.rank() % 3;
    bool ok = m.template size<"dp">() == 2 && m.template size<"tp">() == 3;
    ok = ok && m.template coordinate<"dp">() == row && m.template coordinate<"tp">() == column;
    ok = ok && all_gather(m.template communicator<"tp">(), world.rank()) ==
                   std::vector<int>{3 * row, 3 * row + 1, 3 * row + 2};
    ok = ok && all_gather(m.template communicator<"dp">(), world.rank()) == std::vector<int>{column, 3 + column};
    ok = ok && all_reduce(m.world(), 1) == 6 && m.world().stats().count(sla::collective::all_reduce) == 1;
    ok = ok && m.template communicator<"tp">().stats().collectives() == 1;
    if (!ok) throw sla::error("the mesh is wrong");
  });
}

TEST_CASE("a mesh of the wrong size is refused on every rank") {
  CHECK_THROWS_WITH(sla::threads::run(3, [](auto& world) { mesh<axis<"dp", 2>, axis<"tp", 4>> m(world); }),
                    ContainsSubstring("8") && ContainsSubstring("3"));
  CHECK_THROWS_AS(sla::threads::run(3, [](auto& world) { mesh<axis<"dp", 2>, axis<"tp">> m(world); }), sla::rank_error);
}

TEST_CASE("a mesh of one rank, and of one that pretends to be of many") {
  sla::self alone;
  mesh<axis<"rows">> const one(alone);
  CHECK(one.size<"rows">() == 1);
  CHECK(all_reduce(one.communicator<"rows">(), 2.5) == 2.5);

  sla::fake world(8192, 4100);
  mesh<axis<"pod", 8>, axis<"dp", 128>, axis<"tp", 8>> const many(world);
  CHECK(many.coordinate<"pod">() == 4);
  CHECK(many.coordinate<"dp">() == 0);
  CHECK(many.coordinate<"tp">() == 4);
  CHECK(many.communicator<"dp">().size() == 128);
  CHECK(many.communicator<"dp">().engine() == "fake");
}
} // namespace test_communicator_mesh
