// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives on flattened axes are the nested ones, in one call; shards change the order of their axes; gradients come
// back.
#include <array>

#include <sla/dist/engine/fake.hpp>
#include <sla/dist/step/flat_steps.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/mesh.hpp"

namespace test_flat {

using namespace sla;
using suite::equal;
using suite::require;
using suite::whole_numbers;
using suite::put;
using Both = flat<"dp", "tp">;

// A halo has no level. Where the order wanted would give it one, shards of other levels would say another order: refused.
namespace {
constexpr placement_value shard{placement_kind::shard, monoid::none, 0, 1}, halo{placement_kind::ghost, monoid::none, 0, 2, 3};
template <class... P>
constexpr code asked_for(std::array<int, 2> order, P... on) {
  tensor_placement t{3, 1, -1, {{on...}}};
  return detail::check_order(t, order).why.what;
}
static_assert(asked_for({1, 0}, shard, shard, halo) == code::not_innermost && asked_for({2, 0}, shard, halo, shard) == code::not_innermost);
static_assert(asked_for({0, 1}, shard, shard, halo) == code::ok && asked_for({2, 1}, halo, shard, shard) == code::ok);
using Cube3 = mesh<axis<"a", 2>, axis<"b", 2>, axis<"c", 2>>;
using Ghosted = distributed<vector<double>, Cube3, Shard<0>, Shard<0>, Ghost<0>>;
static_assert(detail::step_decision<order_of_shards<"b", "a">, Ghosted>::why == code::not_innermost);
} // namespace

TEST_CASE("flattened collectives are the nested ones, and shards change places") {
  CHECK_NOTHROW(threads::run(4, [](auto& world) { suite::flat_collectives(mesh<axis<"dp", 2>, axis<"tp", 2>>(world)); }));
  CHECK_NOTHROW(threads::run(6, [](auto& world) { suite::flat_collectives(mesh<axis<"dp", 3>, axis<"tp", 2>>(world)); }));
}

TEST_CASE("axes with others between and around them are flattened, in any order") {
  using Cube = mesh<axis<"pp", 2>, axis<"dp", 2>, axis<"tp", 2>>;
  CHECK_NOTHROW(threads::run(8, [](auto& world) {
    Cube const m(world);
    auto& c = m.world();
    auto const whole = whole_numbers(Extents<dyn, dyn>(16, 3), 3);
    auto const x = distribute<Shard<0>, Shard<0>, Shard<0>>(whole, m);
    auto const part = all_gather<flat<"dp", "tp">>(x);
    static_assert(has_placements<std::remove_const_t<decltype(part)>, Shard<0>, Replicate, Replicate>);
    require(equal(part.local(), distribute<Shard<0>, Replicate, Replicate>(whole, m).local()), c,
            "all_gather of the inner two");
    auto const outer = all_reduce<flat<"tp", "pp">>(put<Partial<>, Replicate, Partial<>>(
        m, whole_numbers(Extents<dyn, dyn>(2, 2), m.coordinate(0) + 2 * m.coordinate(2))));
    for (index_t n = 0; n < 4; ++n) {
      double sum = 0;
      for (int r = 0; r < 4; ++r) sum += whole_numbers(Extents<dyn, dyn>(2, 2), r)[n];
      require(outer.local()[n] == sum, c, "all_reduce around an axis");
    }
    auto const y = permute_shards<"tp", "pp">(x); // tp, dp, pp
    require(equal(y.local(), distribute<Shard<0, Even, 2>, Shard<0, Even, 1>, Shard<0>>(whole, m).local()), c,
            "three axes reversed");
    using Reversed = dtensor<matrix<double>, Cube, Shard<0, Ceil, 2>, Shard<0, Ceil, 1>, Shard<0, Ceil>>;
    auto const zeros = Reversed::zeros(m, {7, 3});
    auto const other =
        distribute<Shard<0, Ceil, 2>, Shard<0, Ceil, 1>, Shard<0, Ceil>>(whole_numbers(Extents<dyn, dyn>(7, 3), 1), m);
    require(zeros.local().extents() == other.local().extents() && zeros.handle()->extent == other.handle()->extent, c,
            "zeros by another order");
    require(equal(gather(other), whole_numbers(Extents<dyn, dyn>(7, 3), 1)), c, "uneven shards by another order");
    auto const z = permute_shards<"pp", "dp">(y); // tp, pp, dp
    require(equal(z.local(), distribute<Shard<0, Even, 1>, Shard<0, Even, 1>, Shard<0>>(whole, m).local()) &&
                equal(gather(z), whole),
            c, "three axes rotated");
  }));
}

TEST_CASE("flattened axes of a fake world have the sizes and this rank's place") {
  fake alone(64, 13);
  mesh<axis<"pp", 4>, axis<"dp", 4>, axis<"tp", 4>> const m(alone);
  auto const x = distribute<Shard<0>, Replicate, Shard<0>>(whole_numbers(Extents<dyn, dyn>(32, 2), 1), m);
  CHECK(all_gather<flat<"pp", "tp">>(x).local().extent(0) == 32);
  auto const p = put<Partial<>, Partial<>, Replicate>(m, suite::numbers<>(Extents<dyn, dyn>(32, 2)));
  CHECK(reduce_scatter<flat<"dp", "pp">, Shard<0>>(p).local().extent(0) == 2);
}

TEST_CASE("flattened axes are made by the ranks that they connect, whatever the others do") {
  CHECK_NOTHROW(threads::run(8, [](auto& world) { suite::one_half_alone(mesh<axis<"pp", 2>, axis<"dp">, axis<"tp", 2>>(world)); }));
}

TEST_CASE("flattened axes of a mesh with strides, on all ranks of the world and on some") {
  using Turned = mesh<axis<"dp", 2, 1>, axis<"tp", 3, 2>>; // tp is outermost among the ranks
  using Some = mesh<axis<"dp", 2, 1>, axis<"tp", 2, 4>>;    // ranks 0, 1, 4, 5, and 2, 3, 6, 7
  auto const check = [](auto const& m) {
    int const N = m.world().size(), tp = m.size(1);
    auto const number = suite::placed_as<double, std::remove_cvref_t<decltype(m)>, Varying, Varying>(m.coordinate(0) * 10.0 + m.coordinate(1), m);
    auto const all = all_gather<Both>(number).local();
    auto const other = all_gather<flat<"tp", "dp">>(number).local();
    bool right = true;
    for (int n = 0; n < N; ++n) right = right && all[n] == n / tp * 10 + n % tp && other[n] == n % 2 * 10 + n / 2;
    require(right, m.world(), "the order of the ranks");
  };
  CHECK_NOTHROW(threads::run(6, [&](auto& world) { check(Turned(world)); }));
  CHECK_NOTHROW(threads::run(8, [&](auto& world) { check(Some(world)); }));
}
} // namespace test_flat
