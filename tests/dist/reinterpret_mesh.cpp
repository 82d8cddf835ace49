// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A value seen from other meshes of its ranks: the bytes stay, and collectives along the new axes find the same tensor.
#include <sla/dist/view/assume.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/view/reinterpret_mesh.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_reinterpret_mesh {

using namespace sla;

namespace {
using Three = mesh<axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 2>>;
using Flat = mesh<axis<"dp_cp", 4>, axis<"tp", 2>>;
using Regrouped = mesh<axis<"edp", 2>, axis<"etp", 4>>;
using Turned = mesh<axis<"tp", 2, 1>, axis<"dp", 2, 4>, axis<"cp", 2, 2>>;
} // namespace

TEST_CASE("flattened and regrouped axes hold the same tensor") {
  auto const X = random<double, Extents<dyn, dyn>>({16, 6}, 3);
  auto const wrong = threads::run(8, [&](auto& world) {
    Three three(world);
    Flat flat(world);
    Regrouped regrouped(world);
    Turned turned(world);
    auto const differs = [&](auto const& x) { return double(norm(gather(x) - X)) != 0; };
    auto const x = distribute<Shard<0>, Shard<0>, Shard<1>>(X, three);
    auto const y = reinterpret_mesh(x, flat);
    static_assert(has_placements<decltype(y), Shard<0>, Shard<1>>);
    int bad = differs(y) || y.local().extents() != x.local().extents();
    bad += double(norm(y.local() - distribute<Shard<0>, Shard<1>>(X, flat).local())) != 0;
    auto const back = reinterpret_mesh(y, three);
    static_assert(std::same_as<decltype(back), decltype(x)>);
    bad += differs(back) || double(norm(back.local() - x.local())) != 0;
    bad += double(norm(reinterpret_mesh(y, turned).local() - x.local())) != 0;
    static_assert(has_placements<decltype(reinterpret_mesh(y, turned)), Shard<1>, Shard<0>, Shard<0>>);
    bad += differs(reinterpret_mesh<Three, Shard<0>, Shard<0>, Shard<1>>(y));
    // the inner two axes as one, by way of all
    auto const all = distribute<Shard<0>, Shard<0>, Shard<0>>(X, three);
    auto const z = reinterpret_mesh(all, regrouped);
    static_assert(has_placements<decltype(z), Shard<0>, Shard<0>>);
    bad += differs(z) || double(norm(z.local() - distribute<Shard<0>, Shard<0>>(X, regrouped).local())) != 0;
    // pending sums: one all_reduce along the flattened axis
    auto const p = assume<Partial<>>(untyped(three, X));
    auto const q = reinterpret_mesh(assume<named<along<"tp", Replicate>>::or_else<Partial<>>>(untyped(three, X)), flat);
    static_assert(has_placements<decltype(q), Partial<>, Replicate>);
    bad += double(norm(all_reduce<"dp_cp">(q).local() - 4.0 * X)) > 1e-13;
    static_assert(has_placements<decltype(reinterpret_mesh(p, regrouped)), Partial<>, Partial<>>);
    // meshes of other worlds are told apart
    auto halves = world.split(world.rank() % 2, world.rank());
    mesh<axis<"x", 4>> half(halves);
    mesh<axis<"y", 2>, axis<"z", 2>> four(halves);
    auto const h = reinterpret_mesh(distribute<Shard<0>>(X, half), four);
    bad += double(norm(gather(h) - X)) != 0;
    mesh<axis<"o">, axis<"i", 2>> open(world);
    mesh<axis<"w">> wide(world);
    bad += differs(reinterpret_mesh(distribute<Shard<0>, Shard<0>>(X, open), wide, assume_layout));
    static_assert(has_placements<decltype(reinterpret_mesh(distribute<Shard<0>>(X, wide), open, assume_layout)), Shard<0>, Shard<0>>);
    bad += differs(reinterpret_mesh(distribute<Shard<0>>(X, wide), open, assume_layout));
    mesh<axis<"w">> of_four(halves);
    try {
      (void)reinterpret_mesh(distribute<Shard<0>, Shard<0>>(X, open), of_four, assume_layout);
      ++bad;
    } catch (shape_error const&) {
    }
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("one number and one rank are seen from any mesh") {
  auto const wrong = threads::run(1, [](auto& world) {
    mesh<axis<"a", 1>> one(world);
    mesh<axis<"b", 1>, axis<"c", 1>> two(world);
    auto const x = reinterpret_mesh(assume<Replicate>(untyped(one, 2.5)), two);
    return has_placements<decltype(x), Replicate, Replicate> && x.value() == 2.5 ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a nonzero partition multiplies on the other mesh") {
  auto const A = problems::poisson<double>({4, 3});
  auto const x = random<double>({12}, 1);
  vector<double> const y = A * x;
  for (double const apart : threads::run(2, [&](auto& world) {
         mesh<axis<"b", 2>> other(world);
         auto const seen = [&] { // the first mesh goes, and what its halos are sent by stays
           mesh<axis<"a", 2>> one(world);
           return reinterpret_mesh(distribute<Hyper<>>(A, one, strips{}), other);
         };
         auto const D = seen();
         return double(norm(gather(D * distribute(x, D.col_layout())) - y));
       }))
    CHECK(apart <= 1e-13);
}
} // namespace test_reinterpret_mesh
