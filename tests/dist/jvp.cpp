// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward mode through distributed products, elementwise operations, reductions, collectives and solves, against one rank.
// Tangents have the placements of their values.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_jvp {

using namespace sla;
using Rows = mesh<axis<"rows">>;

TEST_CASE("tangents through distributed products, reductions and solves are those of one rank") {
  int const ranks = GENERATE(1, 2, 4);
  auto const A = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto const dA = with_values(A, random<double>(A.values().size(), 4));
  auto const x = random<double>({42}, 1), dx = random<double>({42}, 2);
  auto const f = [](auto const& a, auto const& v) {
    auto y = exp(0.1 * (a * v)) * v;
    return solve(a, y / norm(v) - a * y, bicgstab{.rtol = 1e-13}, jacobi{});
  };
  auto const [y, dy] = jvp(f, std::tie(A, x), std::tie(dA, dx));
  auto const g = [](auto const& v) { return dot(v, exp(v)); };
  auto const [s, ds] = jvp(g, std::tie(x), std::tie(dx));
  auto const errors = threads::run(ranks, [&, &y = y, &dy = dy, s = s, ds = ds](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto dD = distribute<SparseShard<0>>(dA, m, strips{});
    auto v = distribute(x, D.row_layout()), dv = distribute(dx, D.row_layout());
    auto [z, dz] = jvp(f, std::tie(D, v), std::tie(dD, dv));
    static_assert(has_placements<decltype(dz), Shard<0, Part<>>>);
    auto [r, dr] = jvp(g, std::tie(v), std::tie(dv));
    static_assert(has_placements<decltype(dr), Partial<>>);  // the value is a pending sum, and so is its tangent
    return std::array<double, 4>{norm(gather(z) - y), norm(gather(dz) - dy), std::abs(all_reduce<"rows">(r).value() - s),
                                 std::abs(all_reduce<"rows">(dr).value() - ds)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-9 * (1 + double(norm(dy))));
}

TEST_CASE("tangents of replicated values stay replicated, collectives carry them") {
  auto const x = random<double>({12}, 1), w = random<double>({12}, 2), dx = random<double>({12}, 3), dw = random<double>({12}, 4);
  sla::vector<double> const expected = dx * w + x * dw;
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto s = distribute<Shard<0>>(x, m), ds = distribute<Shard<0>>(dx, m);
    auto r = distribute<Replicate>(w, m), dr = distribute<Replicate>(dw, m);
    auto const [y, dy] = jvp(
        [](auto const& a, auto const& b) {
          auto whole = all_gather<"rows">(a) * b;
          return reduce_scatter<"rows", Shard<0>>(convert<"rows", Partial<>>(whole));
        },
        std::tie(s, r), std::tie(ds, dr));
    static_assert(has_placements<std::remove_const_t<decltype(dy)>, Shard<0>>);
    return std::array<double, 2>{norm(gather(dy) - expected), norm(gather(y) - x * w)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-13);
}

TEST_CASE("what an equation defines on ranks has the tangents and cotangents of one rank") {
  auto const A = problems::poisson<double>({7, 6});
  auto const dA = with_values(A, 0.1 * values(A));
  auto const b = random<double>(A.rows(), 1), db = random<double>(A.rows(), 2);
  auto const f = [](auto const& a, auto const& c) {
    cg const tight{.rtol = 1e-13};
    return implicit([&](auto const& B, auto const& r) { return solve(B, r, tight, jacobi{}); }, [](auto const& x, auto const& B, auto const& r) { return B * x - r; },
                    [tight](auto const&, auto const& B, auto const&) { return prepare(B, tight, jacobi{}); }, a, c);
  };
  auto const forth = std::get<1>(jvp(f, std::tie(A, b), std::tie(dA, db)));
  auto const back = vjp(f, std::tie(A, b), db);
  auto const plain = vjp([](auto const& a, auto const& c) { return solve(a, c, cg{.rtol = 1e-13}, jacobi{}); }, std::tie(A, b), db);
  CHECK(norm(std::get<2>(back) - std::get<2>(plain)) <= 1e-10 * norm(db));
  CHECK(norm(values(std::get<1>(back)) - values(std::get<1>(plain))) <= 1e-10 * norm(values(std::get<1>(plain))));
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{}), dD = distribute<SparseShard<0>>(dA, m, strips{});
    auto const c = distribute(b, D.row_layout()), dc = distribute(db, D.row_layout());
    auto const on_ranks = vjp(f, std::tie(D, c), dc);
    return std::array<double, 2>{norm(gather(std::get<1>(jvp(f, std::tie(D, c), std::tie(dD, dc)))) - forth), norm(gather(std::get<2>(on_ranks)) - std::get<2>(back))};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-9 * norm(db));
}
} // namespace test_jvp
