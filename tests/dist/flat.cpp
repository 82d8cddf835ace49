// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives on flattened axes are the nested ones, in one call; shards change the order of their axes; gradients come
// back.
#include <sla/dist/fake.hpp>
#include <sla/dist/flat.hpp>
#include <sla/dist/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

using namespace sla;
using suite::equal;
using suite::require;
using suite::whole_numbers;
using Both = flat<"dp", "tp">;

namespace {
template <class... P, class Mesh>
auto put(Mesh const& m, suite::numbers<> local) {
  return suite::placed_as<suite::numbers<>, Mesh, P...>(std::move(local), m);
}
/// <g, A x> = <A* g, x> where both placements hold parts on every axis, or both pending sums.
template <class X, class Step>
double adjoint_error(X const& x, Step const& step) {
  tape t;
  auto& input = t.input(x);
  auto const y = step(traced<X>(t, input));
  auto const out = y.value().local();
  auto g = out;
  auto& c = x.mesh().world();
  constexpr bool copies = std::same_as<placement_on_t<plain_t<decltype(y)>, 0>, Partial<>>;
  auto const noise = whole_numbers(Extents<dyn>(g.size()), copies ? 5 : c.rank());
  std::copy(noise.begin(), noise.end(), g.begin());
  y.variable().add(cotangent_t<plain_t<decltype(y)>>(g, y.value().handle()));
  t.sweep();
  auto const back = input.take_cotangent();
  return suite::pairing<Varying>(c, out, g) - suite::pairing<Varying>(c, x.local(), back.local());
}
template <class Mesh>
void collectives(Mesh const& m) {
  auto& c = m.world();
  auto const whole = whole_numbers(Extents<dyn, dyn>(24, 12), 3);
  auto const p = put<Partial<>, Partial<>>(m, whole_numbers(Extents<dyn, dyn>(24, 12), c.rank()));
  auto const nested = all_reduce<"dp">(all_reduce<"tp">(p));
  require(equal(all_reduce<Both>(p).local(), nested.local()), c, "all_reduce");
  require(equal(all_reduce<flat<"tp", "dp">, Invariant>(p).local(), nested.local()), c, "all_reduce to Invariant");
  auto const s = distribute<Shard<0>, Shard<0>>(whole, m);
  require(equal(all_gather<Both>(s).local(), whole), c, "all_gather");
  auto const scattered = reduce_scatter<Both, Shard<0>>(p);
  static_assert(has_placements<std::remove_const_t<decltype(scattered)>, Shard<0>, Shard<0>>);
  require(equal(scattered.local(), reduce_scatter<"tp", Shard<0>>(reduce_scatter<"dp", Shard<0>>(p)).local()), c,
          "reduce_scatter");
  require(equal(gather(scattered), nested.local()), c, "reduce_scatter, gathered");
  auto const turned = all_to_all<Both, Shard<1>>(s);
  require(equal(turned.local(), distribute<Shard<1>, Shard<1>>(whole, m).local()), c, "all_to_all");
  require(equal(gather(turned), whole), c, "all_to_all, gathered");
  auto const cut = convert<Both, Shard<1>>(put<Replicate, Replicate>(m, whole));
  require(equal(cut.local(), turned.local()), c, "convert");
  auto const stack = all_gather<Both>(put<Varying, Varying>(m, whole_numbers(Extents<dyn, dyn>(2, 3), c.rank())));
  require(suite::is_stack<0>(stack.local(), c.size(), [](int r) { return whole_numbers(Extents<dyn, dyn>(2, 3), r); }),
          c, "stack");

  // tp outside of dp: another order than the mesh's
  auto const other = reduce_scatter<flat<"tp", "dp">, Shard<0>>(p);
  static_assert(has_placements<std::remove_const_t<decltype(other)>, Shard<0, Even, 1>, Shard<0>>);
  auto const swapped = permute_shards<"tp", "dp">(scattered);
  static_assert(std::same_as<decltype(swapped), decltype(other)>);
  require(equal(swapped.local(), other.local()), c, "permute_shards");
  require(equal(gather(swapped), nested.local()) && equal(all_gather<flat<"tp", "dp">>(other).local(), nested.local()),
          c, "another order");
  require(equal(swapped.local(), distribute<Shard<0, Even, 1>, Shard<0>>(nested.local(), m).local()), c,
          "distribute by another order");
  require(equal(permute_shards<"dp", "tp">(swapped).local(), scattered.local()), c, "permute_shards back");

  require(adjoint_error(s, [](auto const& x) { return all_gather<Both>(x); }) == 0, c, "the adjoint of all_gather");
  require(adjoint_error(p, [](auto const& x) { return reduce_scatter<flat<"tp", "dp">, Shard<1>>(x); }) == 0, c,
          "the adjoint of reduce_scatter");
  require(adjoint_error(s, [](auto const& x) { return all_to_all<Both, Shard<1>>(x); }) == 0, c,
          "the adjoint of all_to_all");
  require(adjoint_error(s, [](auto const& x) { return permute_shards<"tp", "dp">(x); }) == 0, c,
          "the adjoint of permute_shards");
}
} // namespace

TEST_CASE("flattened collectives are the nested ones, and shards change places") {
  CHECK_NOTHROW(threads::run(4, [](auto& world) { collectives(mesh<axis<"dp", 2>, axis<"tp", 2>>(world)); }));
  CHECK_NOTHROW(threads::run(6, [](auto& world) { collectives(mesh<axis<"dp", 3>, axis<"tp", 2>>(world)); }));
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
  using Cube = mesh<axis<"pp", 2>, axis<"dp", 2>, axis<"tp", 2>>;
  CHECK_NOTHROW(threads::run(8, [](auto& world) {
    Cube const m(world);
    auto const s = distribute<Replicate, Shard<0>, Shard<0>>(whole_numbers(Extents<dyn, dyn>(8, 3), 3), m);
    auto const p = put<Replicate, Partial<>, Partial<>>(m, whole_numbers(Extents<dyn, dyn>(2, 2), 0));
    bool right = true;
    if (m.coordinate<"pp">() == 1) {
      right = equal(all_gather<flat<"dp", "tp">>(s).local(), whole_numbers(Extents<dyn, dyn>(8, 3), 3));
      right = right && all_reduce<flat<"tp", "dp">>(p).local()[3] == 4 * p.local()[3];
    }
    require(right, m.world(), "one half of the mesh alone");
    require(all_reduce<flat<"tp", "dp">>(p).local()[0] == 4 * p.local()[0], m.world(), "and all of it");
  }));
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
