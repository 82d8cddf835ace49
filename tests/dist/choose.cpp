// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons, maximum, minimum, where and functions of one's own of distributed tensors, and their gradients, against one rank.
#include <array>
#include <cmath>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_choose {

using namespace sla;

TEST_CASE("comparisons, maximum and minimum on ranks") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const A = problems::poisson<double>({4, 3});
  auto const x = random<double>({12}, 1), y = random<double>({12}, 2);
  auto const f = [](auto const& u, auto const& v) { return squared_norm(maximum(u, v) + minimum(u, v) * u + maximum(v, 0.25)); };
  auto const [value, gx, gy] = value_and_gradient(f, x, y);
  vector<double> const expected = maximum(x, 0.0) - minimum(x, y) + (x < y) * y + 3.0 * (x >= 0.25) + (x > y) - (y <= x);
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx, &gy = gy](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const u = distribute(x, D.row_layout()), v = distribute(y, D.row_layout());
    auto const z = eval(maximum(u, 0.0) - minimum(u, v) + (u < v) * v + 3.0 * (u >= 0.25) + (u > v) - (v <= u));
    auto const [total, gu, gv] = value_and_gradient(f, u, v);
    return std::array<double, 4>{norm(gather(z) - expected), std::abs(total - value), norm(gather(gu) - gx), norm(gather(gv) - gy)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-12);
}

TEST_CASE("where and functions of one's own on ranks") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const A = problems::poisson<double>({4, 3});
  auto const x = random<double>({12}, 1), y = random<double>({12}, 2);
  auto const own = [](auto a, auto b) {
    using std::exp;
    return a * exp(-a) / (1 + b * b);
  };
  auto const f = [&own](auto const& u, auto const& v) {
    return squared_norm(where(u > v, apply(own, u, v), u * v) + where(v >= 0.25, v, 0.5) * where(u < 0.5, 0.0, u) + where(u <= 0.75, 1.0, 2.0) * u);
  };
  auto const kinked = [](auto const& u) { return sum(where(u > 0.0, sqrt(u), 0.0)); };  // the derivative that is not taken is infinite
  vector<double> const flat = where(x > 0.5, x, 0.0);
  auto const [value, gx, gy] = value_and_gradient(f, x, y);
  auto const [kink, gk] = value_and_gradient(kinked, flat);
  double const tangent = dot(gx, y) + dot(gy, x);
  vector<double> const expected = where(x > 0.5, apply(own, x, y), 0.0) + where(y, 2.0, y) + apply([](double a) { return a > 0.5 ? 1.0 : -1.0; }, x) + where(x > 0.5, 0.75, 0.0);
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx, &gy = gy, &gk = gk](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const layout = D.row_layout();
    auto const u = distribute(x, layout), v = distribute(y, layout), w = distribute(flat, layout);
    auto const z = eval(where(u > 0.5, apply(own, u, v), 0.0) + where(v, 2.0, v) + apply([](double a) { return a > 0.5 ? 1.0 : -1.0; }, u) +
                        where(u > 0.5, uniform(0.75), 0.0));
    auto const [total, gu, gv] = value_and_gradient(f, u, v);
    auto const slope = gather(std::get<1>(value_and_gradient(kinked, w)));
    double const along = all_reduce<"rows">(std::get<1>(jvp(f, std::tie(u, v), std::tie(v, u)))).value();
    return std::array<double, 6>{std::abs(along - tangent), norm(gather(z) - expected), std::abs(total - value), norm(gather(gu) - gx), norm(gather(gv) - gy), norm(slope - gk)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-12);
}

TEST_CASE("where and functions of one's own of copies, varying values, and numbers") {
  int const ranks = GENERATE(1, 2, 4);
  auto const x = random<double>({10}, 3);
  auto const f = [](auto const& u, auto const& s) { return where(u > 0.5, s * u, apply([](auto a, auto b) { return a * a * b; }, u, s)); };
  auto const loss = [&f](auto const& u, auto const& s) { return squared_norm(f(u, s)); };
  auto const [value, gx, gs] = value_and_gradient(loss, x, 1.5);
  vector<double> const expected = f(x, 1.5);
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx, gs = gs](auto& world) {
    using Mesh = mesh<axis<"tp">>;
    Mesh m(world);
    auto const layout = dtensor<vector<double>, Mesh, Shard<0, Balanced>>::zeros(m, Extents<dyn>(10)).layout();
    auto const u = distribute(x, layout);
    auto const handle = u.handle();
    distributed<double, Mesh, Replicate> const s(1.5, handle);
    dtensor<vector<double>, Mesh, Replicate> const whole(x, handle);
    dtensor<vector<double>, Mesh, Varying> const own(x, handle);
    static_assert(has_placements<decltype(eval(f(u, s))), Shard<0, Balanced>> && has_placements<decltype(eval(f(whole, s))), Replicate> &&
                  has_placements<decltype(eval(f(own, s))), Varying>);
    auto const [total, gu, gn] = value_and_gradient(loss, u, s);
    static_assert(has_placements<decltype(gn), Partial<>>);
    return std::array<double, 6>{norm(gather(eval(f(u, s))) - expected), norm(eval(f(whole, s)).local() - expected), norm(eval(f(own, s)).local() - expected),
                                 std::abs(total - value), norm(gather(gu) - gx), std::abs(all_reduce<"tp">(gn).value() - gs)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-12);
}

TEST_CASE("where refuses operands that were sharded by different partitions") {
  auto const x = random<double>({12}, 1);
  threads::run(2, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const rows = distribute<SparseShard<0>>(problems::poisson<double>({4, 3}), m, strips{}).row_layout();
    auto const others = distribute<SparseShard<0>>(problems::poisson<double>({4, 3}), m, owner_map(std::vector<index_t>{0, 3, 12})).row_layout();
    auto const u = distribute(x, rows), v = distribute(x, others);
    CHECK_THROWS_WITH(eval(where(u > 0.5, u, v)), Catch::Contains("sharded by different partitions"));
    CHECK_THROWS_WITH(eval(apply([](auto a, auto b) { return a + b; }, u, v)), Catch::Contains("sharded by different partitions"));
  });
}

} // namespace test_choose
