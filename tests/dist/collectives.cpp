// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives and conversions of distributed tensors on even and uneven shards, and the typed elementwise layer.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

namespace test_collectives {

using namespace sla;
using Ranks = mesh<axis<"tp">>;

namespace {
template <class... Values>
void all_ranks(int ranks, Values const&... program) {
  auto const wrong = threads::run(ranks, [&](auto& world) {
    Ranks m(world);
    return (program(m) + ... + 0.0);
  });
  for (double e : wrong) CHECK(e <= 1e-13);
}
}  // namespace

TEST_CASE("shards of every family and dimension come back in order") {
  int const ranks = GENERATE(1, 2, 3, 4);
  auto const X = random<double, Extents<dyn, dyn>>({24, 7}, 1);
  auto const Y = random<double, Extents<dyn, dyn>>({7, 10}, 2);
  all_ranks(
      ranks, [&](auto& m) { return double(norm(gather(distribute<Shard<0>>(X, m)) - X)); },
      [&](auto& m) { return double(norm(gather(distribute<Shard<0, Ceil>>(Y, m)) - Y)); },
      [&](auto& m) { return double(norm(gather(distribute<Shard<1, Balanced>>(Y, m)) - Y)); },
      [&](auto& m) { return double(norm(all_gather<"tp">(distribute<Shard<1, Ceil>>(Y, m)).local() - Y)); },
      [&](auto& m) { return double(norm(distribute<Replicate>(Y, m).local() - Y)); });
}

TEST_CASE("pending sums are finished by all_reduce and reduce_scatter") {
  int const ranks = GENERATE(1, 2, 3, 4);
  auto const X = random<double, Extents<dyn, dyn>>({12, 5}, 1);
  all_ranks(
      ranks,
      [&](auto& m) {
        auto p = convert<"tp", Partial<>>(distribute<Replicate>(X, m));
        return double(norm(all_reduce<"tp">(p).local() - X)) + double(norm(gather(reduce_scatter<"tp", 0>(p)) - X)) +
               double(norm(gather(reduce_scatter<"tp", Shard<1, Ceil>>(p)) - X)) +
               double(norm(all_reduce<"tp", Invariant>(2.0 * p).local() - 2.0 * X));
      },
      [&](auto& m) {
        auto s = distribute<Shard<0>>(X, m);
        auto back = convert<"tp", Partial<>>(s, expert);
        return double(norm(all_reduce<"tp">(back).local() - X));
      },
      [&](auto& m) {
        auto r = reinterpret<"tp", Partial<>>(distribute<Replicate>(X, m), expert);
        return double(norm(gather(r) - double(m.size(0)) * X));
      },
      [&](auto& m) {
        auto s = convert<"tp", Shard<0>>(convert<"tp", Replicate>(distribute<Invariant>(X, m)));
        return double(norm(gather(s) - X));
      });
}

TEST_CASE("elementwise expressions and reductions of shards are those of the whole") {
  int const ranks = GENERATE(1, 2, 4);
  auto const x = random<double>({16}, 1), y = random<double>({16}, 2);
  sla::vector<double> const z = 2.0 * x * y - exp(x) / 4.0 + 1.0 - y;
  all_ranks(ranks, [&](auto& m) {
    auto dx = distribute<Shard<0>>(x, m), dy = distribute<Shard<0>>(y, m);
    double const alpha = 2.0;
    decltype(dx) dz = uniform(alpha) * dx * dy - exp(dx) / 4.0 + 1.0 - dy;
    auto pending = dot(dx, dy);
    static_assert(has_placements<decltype(pending), Partial<>>);
    auto const of_local = [&] {
      auto const local = eval(2.0 * dx);
      return squared_norm(local);  // a number: nothing is left that would read the vector
    }();
    static_assert(has_placements<decltype(of_local), Partial<>>);
    double const sums = std::abs(all_reduce<"tp">(of_local).value() - 4 * squared_norm(x)) + std::abs(all_reduce<"tp">(pending).value() - dot(x, y)) +
                        std::abs(all_reduce<"tp">(sum(dx)).value() - sum(x)) +
                        std::abs(all_reduce<"tp">(squared_norm(dx)).value() - squared_norm(x)) + std::abs(norm(dx).value() - norm(x)) +
                        std::abs(norm1(dx).value() - norm1(x)) + std::abs(norm_inf(dx).value() - norm_inf(x)) +
                        std::abs(all_reduce<"tp">((max)(dx)).value() - double((max)(x))) + std::abs(all_reduce<"tp">((min)(-dx)).value() - double((min)(-x)));
    return double(norm(gather(dz) - z)) + sums;
  });
}

TEST_CASE("a fake world has the types, the sizes and this rank's part") {
  fake world(8, 3);
  mesh<axis<"dp", 2>, axis<"tp", 4>> m(world);
  auto x = dtensor<matrix<double>, decltype(m), Shard<0>, Shard<1, Ceil>>::zeros(m, {6, 10});
  CHECK(x.local().extents() == Extents<dyn, dyn>(3, 1));
  static_assert(sizeof(x) == sizeof(dtensor<matrix<double>, decltype(m), Replicate, Partial<>>));
  using Even = dtensor<sla::vector<double>, decltype(m), Replicate, Shard<0>>;
  CHECK_THROWS_AS(Even::zeros(m, {10}), shape_error);
}
} // namespace test_collectives
