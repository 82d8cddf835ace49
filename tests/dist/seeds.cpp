// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of distributed functions from a given seed, which has the dual placements of the value, against one rank.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_seeds {

namespace seeds {
namespace {

using namespace sla;
using Rows = mesh<axis<"rows">>;

TEST_CASE("a seed is carried back over shards, copies and pending sums as on one rank") {
  int const ranks = GENERATE(1, 2, 3, 4);
  auto const A = problems::convection_diffusion<double>({4, 3}, {3.0, 1.0});
  auto const x = random<double>({12}, 1), w = random<double>({12}, 2);
  auto const f = [](auto const& a, auto const& v) { return exp(a * v) * v; };
  auto const [y, gA, gx] = vjp(f, std::tie(A, x), w);
  auto const [s, gs] = vjp([](auto const& v) { return squared_norm(v); }, std::tie(x), 3);
  auto const errors = threads::run(ranks, [&, &y = y, &gx = gx, &gA = gA, &gs = gs, s = s](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const v = distribute(x, D.row_layout()), seed = distribute(w, D.row_layout());
    auto const whole = distribute<Replicate>(w, m);
    auto const [by_rows, dA, dv] = vjp(f, std::tie(D, v), seed);
    static_assert(std::same_as<std::remove_cvref_t<decltype(dA)>, cotangent_t<decltype(D)>>);
    auto const gather_last = [&](auto const& a, auto const& u) { return all_gather<"rows">(f(a, u)); };
    auto const [copies, dA2, dv2] = vjp(gather_last, std::tie(D, v), convert<"rows", Partial<>>(whole));
    static_assert(has_placements<std::remove_cvref_t<decltype(copies)>, Replicate>);
    auto const once = [&](auto const& a, auto const& u) { return all_gather<"rows", Invariant>(f(a, u)); };
    auto const [same, dA3, dv3] = vjp(once, std::tie(D, v), convert<"rows", Invariant>(whole, expert));
    auto const [pending, dn] = vjp([](auto const& u) { return squared_norm(u); }, std::tie(v), distributed<double, Rows, Replicate>(3.0, whole.handle()));
    auto const probe = distribute(w, D.row_layout());
    sla::vector<double> const expected = gA * w;
    return std::array<double, 9>{norm(gather(by_rows) - y),
                                 norm(gather(dv) - gx),
                                 norm(gather(dv2) - gx),
                                 norm(gather(dv3) - gx),
                                 norm(gather(dA * probe) - expected),
                                 norm(gather(dA2 * probe) - expected),
                                 norm(gather(dA3 * probe) - expected),
                                 norm(gather(dn) - gs),
                                 std::abs(all_reduce<"rows">(pending).value() - s)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-12 * (1 + double(norm(y))));
}

} // namespace
} // namespace seeds
} // namespace test_seeds
