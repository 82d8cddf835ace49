// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients and tangents through reshapes, other meshes and assumptions, against one rank.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/view/views_gradient.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/grad.hpp>

#include "catch.hpp"

namespace test_gradient_views {

using namespace sla;

namespace {
using Two = mesh<axis<"dp", 2>, axis<"tp", 2>>;
using Flat = mesh<axis<"all", 4>>;

/// One value of cubes, by rows and columns of a plane, on the mesh of all ranks as one axis.
struct weighted_cubes {
  template <class X, class M, class W>
  auto operator()(X const& x, M const& m, W const& w) const {
    auto y = reshape<"(a b) c -> a (b c)">(x, named_extent<"a", 4>());
    auto z = reinterpret_mesh(y, m);
    return sum(w * z * z * z);
  }
};
} // namespace

TEST_CASE("the cotangent of another view is the view back") {
  auto const X = random<double, Extents<dyn, dyn>>({8, 3}, 5), D = random<double, Extents<dyn, dyn>>({8, 3}, 7);
  auto const W = random<double, Extents<dyn, dyn>>({4, 6}, 6);
  double value = 0, slope = 0;
  matrix<double> expected(Extents<dyn, dyn>(8, 3));
  for (index_t n = 0; n < 24; ++n) {
    double const x = X.data()[n], w = W.data()[n];
    value += w * x * x * x;
    expected.data()[n] = 3 * w * x * x;
    slope += 3 * w * x * x * D.data()[n];
  }
  auto const wrong = threads::run(4, [&](auto& world) {
    Two two(world);
    Flat flat(world);
    auto const x = distribute<Shard<0>, Shard<0>>(X, two);
    auto const d = distribute<Shard<0>, Shard<0>>(D, two);
    auto const w = distribute<Shard<0>>(W, flat);
    auto const loss = [&](auto const& v) { return weighted_cubes{}(v, flat, w); };
    auto const [total, g] = value_and_gradient(loss, x);
    static_assert(has_placements<decltype(g), Shard<0>, Shard<0>>);
    auto const [s, ds] = jvp(loss, std::tie(x), std::tie(d));
    int bad = std::abs(total - value) > 1e-13 || double(norm(gather(g) - expected)) > 1e-13;
    bad += std::abs(all_reduce<"all">(ds).value() - slope) > 1e-13;
    // what is assumed of a Varying: a shard, whose gradient each rank keeps
    auto const v = convert<"all", Varying>(reinterpret_mesh(assume<Replicate>(untyped(two, random<double, Extents<dyn, dyn>>({4, 2}, 9))), flat));
    auto const [t, h] = value_and_gradient([&](auto const& u) { return squared_norm(assume<"all", Shard<0>>(u)); }, v);
    static_assert(has_placements<decltype(h), Varying>);
    bad += std::abs(t - double(squared_norm(random<double>({8}, 9)))) > 1e-14 || h.local()[1] != 2.0 * v.local()[1];
    // and the way back: what each rank has of a shard
    auto const row = distribute<Shard<0>>(W, flat);
    auto const [c, k] = value_and_gradient([&](auto const& u) { return squared_norm(assume<"all", Shard<0>>(as_local<"all">(u))); }, row);
    static_assert(has_placements<decltype(k), Shard<0>> && has_placements<decltype(as_local<"all">(row)), Varying>);
    bad += std::abs(c - double(squared_norm(W))) > 1e-13 || double(norm(gather(k) - 2.0 * W)) > 1e-13;
    return bad;
  });
  CHECK(wrong == 0);
}
} // namespace test_gradient_views
