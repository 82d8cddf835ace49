// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the items of a batch, and sections at typed offsets: the placements of one item, and the values of a loop.
#include <tuple>

#include <sla/dist/view/assume.hpp>
#include <sla/dist/view/batched.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

namespace test_batched {

using namespace sla;

namespace {
using Line = mesh<axis<"tp">>;
using R = Replicate;
using V = Varying;
template <class P>
using Vector = dtensor<sla::vector<double>, Line, P>;
template <class P>
using Index = distributed<index_t, Line, P>;
template <class... Ts>
constexpr code refused = outcome_of<op::section, Ts...>.why.what;
template <class Expected, class... Ts>
constexpr bool makes = std::same_as<result_placements_t<op::section, Ts...>, placements<Expected>> && refused<Ts...> == code::ok;
} // namespace

// an offset counts like an operand, and is no term of a sum
static_assert(makes<V, Vector<R>, Index<V>> && makes<R, Vector<R>, Index<R>> && makes<Partial<>, Vector<Partial<>>, Index<R>> &&
              makes<Invariant, Vector<Invariant>, Index<R>> && makes<Shard<0>, Vector<Shard<0>>, Index<R>>);
static_assert(refused<Vector<Partial<>>, Index<V>> == code::partial_with_varying && refused<Vector<R>, Index<Partial<>>> == code::nonlinear_argument);

TEST_CASE("a section at the rank's own offset is what the rank reads there") {
  int const ranks = GENERATE(1, 3);
  auto const X = random<double, Extents<dyn, dyn>>({3, 8}, 3);
  auto const wrong = threads::run(ranks, [&](auto& world) {
    Line m(world);
    auto const x = distribute<R>(X, m);
    auto const r = rank_along<"tp">(m);
    auto const mine = section<1>(x, r * uniform(index_t(2)), 2);
    static_assert(has_placements<decltype(mine), V>);
    int bad = mine.local().extents() != Extents<dyn, dyn>(3, 2);
    for (index_t i = 0; i < 3; ++i)
      for (index_t j = 0; j < 2; ++j) bad += mine.local()(i, j) != X(i, j + 2 * world.rank());
    auto const rows = section<0>(distribute<Shard<1, Balanced>>(X, m), uniform(index_t(1)), 2);
    static_assert(has_placements<decltype(rows), Shard<1, Balanced>>);
    auto const all = gather(rows);
    bad += all.extents() != Extents<dyn, dyn>(2, 8) || all(1, 7) != X(2, 7);
    try {
      (void)section<0>(x, uniform(index_t(2)), 2);
      ++bad;
    } catch (index_error const&) {
    }
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a batched function is a loop over items with the placements of one") {
  auto const X = random<double, Extents<dyn, dyn>>({3, 8}, 3), Y = random<double, Extents<dyn, dyn>>({3, 8}, 4);
  auto const w = random<double>({8}, 5);
  auto const wrong = threads::run(2, [&](auto& world) {
    Line m(world);
    auto const x = distribute<Shard<1>>(X, m), y = distribute<Shard<1>>(Y, m);
    auto const dw = distribute<Shard<0>>(w, m);
    int bad = 0;
    // mapped, the same for all, and captured
    auto const z = batched([&](auto const& item, auto const& weight) {
      static_assert(has_placements<decltype(item), Shard<0>>);
      return item * weight + 2.0 * dw;
    })(x, unbatched(dw));
    static_assert(has_placements<decltype(z), Shard<1>>);
    auto const all = gather(z);
    for (index_t i = 0; i < 3; ++i)
      for (index_t j = 0; j < 8; ++j) bad += std::abs(all(i, j) - (X(i, j) * w[j] + 2 * w[j])) > 1e-14;
    // several arguments in a tuple, two results: a pending number, and a finished one; a collective per item
    auto const [sums, dots] = batched([](auto const& pair, double scale) {
      auto const& [a, b] = pair;
      return std::tuple{sum(a) , eval(all_reduce<"tp">(dot(a, b)) * uniform(scale))};
    })(std::tuple{x, y}, 0.5);
    static_assert(has_placements<decltype(sums), Partial<>> && has_placements<decltype(dots), R>);
    auto const finished = all_reduce<"tp">(sums);
    for (index_t i = 0; i < 3; ++i) {
      double s = 0, d = 0;
      for (index_t j = 0; j < 8; ++j) s += X(i, j), d += X(i, j) * Y(i, j);
      bad += std::abs(finished.local()[i] - s) > 1e-13 || std::abs(dots.local()[i] - 0.5 * d) > 1e-13;
    }
    try {
      (void)batched([](auto const& a, auto const& b) { return a + b; })(x, distribute<Shard<1>>(matrix<double>(Extents<dyn, dyn>(2, 8)), m));
      ++bad;
    } catch (shape_error const&) {
    }
    // numbers are the items of a vector
    auto const squares = batched([](auto const& a) { return a * a; })(distribute<R>(w, m));
    bad += std::abs(squares.local()[7] - w[7] * w[7]) > 1e-15;
    return bad;
  });
  CHECK(wrong == 0);
}
} // namespace test_batched
