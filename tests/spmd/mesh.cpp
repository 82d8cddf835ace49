// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Meshes over worlds of any size: names, coordinates, one communicator per axis, and the sentence for a wrong size.
#include <string>
#include <vector>

#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/engine/typed_collectives.hpp>
#include <sla/spmd/mesh/mesh.hpp>

#include "catch.hpp"

namespace test_mesh {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

using Grid = mesh<axis<"pp", 2>, axis<"dp", 3>, axis<"tp", 4>>;
static_assert(Grid::rank == 3 && Grid::find("dp") == 1 && Grid::find("xp") == -1);
static_assert(Grid::static_size(2) == 4 && Grid::static_stride(0) == 12 && Grid::static_stride(2) == 1);
static_assert(Grid::index<"tp">() == 2 && Grid::name(0) == "pp");
static_assert(mesh<axis<"rows">>::static_size(0) == dyn);
static_assert(mesh<axis<"a">, axis<"b", 2>>::static_stride(0) == 2 &&
              mesh<axis<"b", 2>, axis<"a">>::static_stride(0) == dyn);
static_assert(is_mesh<Grid> && !is_mesh<int>);

// axes as layouts: computed strides, stated strides, sizes known at run time
static_assert(Grid::layout(0) == axis_layout(2, 12) && Grid::layout(1) == axis_layout(3, 4) && Grid::region() == axis_layout(24, 1));
using ByColumns = mesh<axis<"tp", 4, 1>, axis<"dp", 3, 4>, axis<"pp", 2, 12>>;
static_assert(ByColumns::is_strided && !Grid::is_strided && ByColumns::region() == Grid::region());
static_assert(ByColumns::layout(ByColumns::find("dp")) == Grid::layout(Grid::find("dp")) && ByColumns::static_stride(2) == 12);
using Open = mesh<axis<"r">, axis<"one", 1>, axis<"c", 2>>;
static_assert(Open::layout(0) == axis_layout(rank_count::symbol(0), rank_count{2}) && Open::layout(1) == axis_layout{});
static_assert(Open::region() == axis_layout(rank_count::symbol(0) * rank_count{2}, rank_count{1}));
static_assert(Grid::axes()[1].name == "dp" && Grid::axes()[1].layout == axis_layout(3, 4));

// promises
using Mixed = mesh<mesh_policy<local_axes<"pp", "dp">, permissive>, axis<"pp", 2>, axis<"dp", 3>, axis<"tp", 4>>;
static_assert(is_mesh<Mixed> && Mixed::rank == 3 && Mixed::local_axis_count == 2 && Grid::local_axis_count == -1);
static_assert(Mixed::policy::has<permissive> && !Mixed::policy::has<explicit_partial> && Mixed::index<"tp">() == 2);
static_assert(mesh<mesh_policy<explicit_partial>, axis<"a">>::local_axis_count == -1 &&
              mesh<mesh_policy<local_axes<>>, axis<"a">>::local_axis_count == 0);

TEST_CASE("coordinates are row-major") {
  for (int me = 0; me < 24; ++me) {
    fake world(24, me);
    Grid m(world);
    CHECK(m.coordinate<"pp">() * 12 + m.coordinate<"dp">() * 4 + m.coordinate<"tp">() == me);
    CHECK(m.size<"pp">() == 2);
    CHECK(m.size(1) == 3);
    for (int a = 0; a < Grid::rank; ++a) {
      CHECK(m.communicator(a).size() == m.size(a));
      CHECK(m.communicator(a).rank() == m.coordinate(a));
    }
    CHECK(&m.communicator<"dp">() == &m.communicator(1));
    CHECK(m.world().size() == 24);
    CHECK(m.world().rank() == me);
  }
}

TEST_CASE("an open axis takes what is left") {
  fake world(12, 7);
  mesh<axis<"rows">> rows(world);
  CHECK(rows.size<"rows">() == 12);
  mesh<axis<"rows">, axis<"cols", 3>> grid(world);
  CHECK(grid.size<"rows">() == 4);
  CHECK(grid.coordinate<"rows">() == 2);
  CHECK(grid.coordinate<"cols">() == 1);
  self one;
  mesh<axis<"rows">, axis<"one", 1>> alone(one);
  CHECK(alone.size<"rows">() == 1);
  CHECK(alone.communicator<"one">().size() == 1);
}

TEST_CASE("a mesh is a handle") {
  fake world(4, 1);
  mesh<axis<"rows">> m(world), other(world);
  auto copy = m;
  CHECK(copy == m);
  CHECK(!(other == m));
  CHECK(m);
  mesh<axis<"rows">> empty;
  CHECK(!empty);
  CHECK_THROWS_WITH(empty.size<"rows">(), ContainsSubstring("never made from a world"));
}

TEST_CASE("sizes that do not fit the world are named") {
  fake world(8, 0);
  using Two = mesh<axis<"dp", 2>, axis<"tp", 3>>;
  using OpenTwo = mesh<axis<"dp">, axis<"tp", 3>>;
  CHECK_THROWS_AS(Two(world), shape_error);
  CHECK_THROWS_WITH(Two(world), ContainsSubstring("dp=2 x tp=3 needs 6 ranks, and this world has 8"));
  CHECK_THROWS_WITH(OpenTwo(world), ContainsSubstring("dp=dyn x tp=3 needs a multiple of 3 ranks, and this world has 8"));
}

TEST_CASE("the ranks of a thread world find each other along the axes") {
  int const bad = threads::run(6, [](auto& world) {
    mesh<axis<"r", 2>, axis<"c", 3>> m(world);
    bool const right = m.communicator<"c">().size() == 3 && m.communicator<"c">().rank() == m.world().rank() % 3 &&
                       m.communicator<"r">().size() == 2 && m.communicator<"r">().rank() == m.world().rank() / 3;
    return right ? 0 : 1;
  });
  CHECK(bad == 0);
}

TEST_CASE("axes of stated strides find the same ranks in another order, or in a part of the world") {
  for (int me = 0; me < 24; ++me) {
    fake world(24, me);
    Grid rows(world);
    ByColumns columns(world);
    for (auto const* name : {"pp", "dp", "tp"})
      CHECK(rows.coordinate(Grid::find(name)) == columns.coordinate(ByColumns::find(name)));
    CHECK(coordinate_on(Grid::layout(1), me) == rows.coordinate<"dp">());
    mesh<axis<"tp", 2, 2>> part(world); // twelve meshes of two ranks
    CHECK(part.coordinate<"tp">() == me / 2 % 2);
    CHECK(part.communicator<"tp">().size() == 2);
    Mixed mixed(world);
    CHECK(mixed.coordinate<"dp">() == rows.coordinate<"dp">());
  }
  int const bad = threads::run(8, [](auto& world) {
    mesh<axis<"in", 2, 1>, axis<"out", 2, 4>> part(world); // ranks 0 1 4 5, and 2 3 6 7
    int const me = world.rank();
    bool const right = part.world().size() == 4 && part.world().rank() == part.coordinate<"out">() * 2 + part.coordinate<"in">() &&
                       part.coordinate<"out">() == me / 4 && part.coordinate<"in">() == me % 2 &&
                       part.communicator<"out">().rank() == me / 4;
    auto const all = all_gather(part.world(), me);
    int const first = me / 2 % 2 * 2;
    return right && all == std::vector<int>{first, first + 1, first + 4, first + 5} ? 0 : 1;
  });
  CHECK(bad == 0);
}

} // namespace test_mesh
