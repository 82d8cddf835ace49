// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through distributed products, elementwise operations, reductions, collectives and solves, against one rank.
#include <sla/dist.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_gradient {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// The stored values of a cotangent as the matrix that they are: y = G x for a fixed x, gathered.
template <class D, class X>
auto applied(D const& g, X const& x) {
  return gather(g * x);
}
}  // namespace

TEST_CASE("the largest of a vector of one rank is what it is without ranks, traced too") {
  vector<double> const v{1, 3, 2};
  CHECK(max(v) == 3);
  CHECK(min(v) == 1);
  auto const [largest, g] = value_and_gradient([](auto const& x) { return max(x) - min(x); }, v);
  CHECK(largest == 2);
  CHECK(g[0] == -1);
  CHECK(g[1] == 1);
}

TEST_CASE("gradients through distributed products and reductions are those of one rank") {
  int const ranks = GENERATE(1, 2, 3, 8);
  bool const scattered = GENERATE(false, true);
  auto const A = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto const x = random<double>({42}, 1), b = random<double>({42}, 2), probe = random<double>({42}, 3);
  auto const [value, gA, gx] = value_and_gradient(
      [&](auto const& a, auto const& v) {
        auto y = a * v - b;
        return sum(exp(y) * v) + 0.5 * squared_norm(y) + dot(y, v);
      },
      A, x);
  sla::vector<double> const expected = gA * probe;
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered));
    auto dx = distribute(x, D.row_layout());
    auto db = distribute(b, D.row_layout());
    auto [total, dA, g] = value_and_gradient(
        [&](auto const& a, auto const& v) {
          auto y = a * v - db;
          return sum(exp(y) * v) + 0.5 * squared_norm(y) + dot(y, v);
        },
        D, dx);
    static_assert(has_placements<decltype(dA), SparseShard<0>>);
    static_assert(has_placements<decltype(g), Shard<0, Part<>>>);
    return std::array<double, 3>{std::abs(total - value), norm(gather(g) - gx), norm(applied(dA, distribute(probe, D.row_layout())) - expected)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
}

TEST_CASE("gradients of norms of distributed vectors are those of one rank, ties shared by all of them") {
  int const ranks = GENERATE(1, 2, 3, 4);
  auto x = random<double>({24}, 1);
  auto const w = random<double>({24}, 2), d = random<double>({24}, 3);
  x[2] = 1.5, x[11] = -1.5, x[23] = 1.5;  // they tie, on several ranks
  auto z = random<std::complex<double>>({24}, 4);
  z[5] = {3.0, -4.0}, z[19] = {0.0, 5.0};
  auto const f = [](auto const& v, auto const& c, auto const& u) {
    return squared_norm(v - u) / norm_inf(v) + dot(u, v) * norm1(v) / norm(v) + squared_norm(c) / norm_inf(c) - dot(v, v) * norm_inf(2.0 * v);
  };
  auto const [value, gx, gz] = value_and_gradient([&](auto const& v, auto const& c) { return f(v, c, w); }, x, z);
  auto const slope = std::get<1>(jvp([&](auto const& v, auto const& c) { return f(v, c, w); }, std::tie(x, z), std::tuple(d, z * 0.5)));
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx, &gz = gz](auto& world) {
    Rows m(world);
    auto const dx = distribute<Shard<0>>(x, m), dw = distribute<Shard<0>>(w, m), dd = distribute<Shard<0>>(d, m);
    auto const dz = distribute<Shard<0>>(z, m), half = distribute<Shard<0>>(eval(z * 0.5), m);
    auto const on_ranks = [&](auto const& v, auto const& c) { return f(v, c, dw); };
    auto const [total, dgx, dgz] = value_and_gradient(on_ranks, dx, dz);
    auto const along = std::get<1>(jvp(on_ranks, std::tie(dx, dz), std::tie(dd, half)));
    return std::array<double, 4>{std::abs(total - value), norm(gather(dgx) - gx), norm(gather(dgz) - gz),
                                 std::abs(all_reduce<"rows">(along).value() - slope)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
}

TEST_CASE("gradients through columns, and through rows times a whole vector, are those of one rank") {
  auto const A = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto const x = random<double>({42}, 1), b = random<double>({42}, 2), probe = random<double>({42}, 3);
  auto const [value, gA, gx] = value_and_gradient([&](auto const& a, auto const& v) { return squared_norm(a * v - b); }, A, x);
  sla::vector<double> const expected = gA * probe;
  auto const errors = threads::run(3, [&, value = value, &gx = gx](auto& world) {
    Rows m(world);
    auto C = distribute<SparseShard<1>>(A, m);
    auto db = distribute(b, C.row_layout());
    auto [by_columns, dC, gc] = value_and_gradient(
        [&](auto const& a, auto const& v) { return squared_norm(reduce_scatter<"rows", Shard<0, Part<>>>(a * v) - db); }, C,
        distribute(x, C.col_layout()));
    static_assert(has_placements<decltype(dC), SparseShard<1>> && has_placements<decltype(gc), Shard<0, Part<>>>);
    auto D = distribute<SparseShard<0>>(A, m);
    auto dr = distribute(b, D.row_layout());
    auto [by_rows, dD, gr] = value_and_gradient([&](auto const& a, auto const& v) { return squared_norm(a * v - dr); }, D, distribute<Replicate>(x, m));
    static_assert(has_placements<decltype(dD), SparseShard<0>> && has_placements<decltype(gr), Partial<>>);
    return std::array<double, 6>{std::abs(by_columns - value),
                                 std::abs(by_rows - value),
                                 norm(gather(gc) - gx),
                                 norm(gather(gr) - gx),
                                 norm(applied(dC, distribute(probe, C.col_layout())) - expected),
                                 norm(applied(dD, distribute(probe, D.row_layout())) - expected)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-11 * (1 + std::abs(value)));
}

TEST_CASE("gradients through distributed solves are those of one rank") {
  int const ranks = GENERATE(1, 3, 4, 8);
  bool const scattered = ranks % 2 == 0;
  auto const A = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto const b = random<double>({42}, 1), target = random<double>({42}, 2), probe = random<double>({42}, 3);
  auto const [value, gA, gb] = value_and_gradient(
      [&](auto const& a, auto const& rhs) { return 0.5 * squared_norm(solve(a, rhs, bicgstab{.rtol = 1e-13}, jacobi{}) - target); }, A, b);
  sla::vector<double> const expected = gA * probe;
  auto const errors = threads::run(ranks, [&, value = value, &gb = gb](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered));
    auto dt = distribute(target, D.row_layout());
    auto [total, dA, g] = value_and_gradient(
        [&](auto const& a, auto const& rhs) { return 0.5 * squared_norm(solve(a, rhs, bicgstab{.rtol = 1e-13}, jacobi{}) - dt); }, D,
        distribute(b, D.row_layout()));
    return std::array<double, 3>{std::abs(total - value), norm(gather(g) - gb), norm(applied(dA, distribute(probe, D.row_layout())) - expected)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-9 * (1 + std::abs(value)));
}

TEST_CASE("cotangents of replicated values are partial, of gathered shards they are shards") {
  auto const x = random<double>({12}, 1), w = random<double>({12}, 2);
  sla::vector<double> const expected = 2.0 * (x * w) * w;
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto ds = distribute<Shard<0>>(x, m);
    auto dw = distribute<Replicate>(w, m);
    auto [value, gs, gw] = value_and_gradient(
        [](auto const& s, auto const& r) {
          auto whole = all_gather<"rows">(s) * r;
          return squared_norm(convert<"rows", Shard<0>>(whole));
        },
        ds, dw);
    static_assert(has_placements<decltype(gs), Shard<0>> && has_placements<decltype(gw), Partial<>>);
    sla::vector<double> const other = 2.0 * (x * w) * x;
    return std::array<double, 3>{norm(gather(gs) - expected), norm(gather(gw) - other), std::abs(value - squared_norm(x * w))};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-13);
}

TEST_CASE("constant(x) has no gradient: as Replicate or as Invariant it meets either, plain and traced alike") {
  vector<double> const x = random<double>({5}, 1), w = random<double>({5}, 2);
  for (double e : threads::run(3, [&](auto& world) {
         mesh<axis<"tp">> m(world);
         auto const X = distribute<Invariant>(x, m);
         auto const W = distribute<Replicate>(w, m);
         static_assert(has_placements<decltype(eval(X * constant(W))), Invariant> && has_placements<decltype(eval(constant(X) * W)), Replicate>);
         auto const apart = [&](auto const& f, vector<double> const& expected) {
           auto const slope = std::get<1>(value_and_gradient(f, X));
           static_assert(has_placements<std::remove_const_t<decltype(slope)>, Invariant>);
           return double(norm(slope.local() - expected));
         };
         return apart([&](auto const& y) { return squared_norm(y * constant(W)); }, 2.0 * x * w * w) +
                apart([&](auto const& y) { return squared_norm(y + constant(2.0 * W)); }, 2.0 * (x + 2.0 * w)) +
                apart([&](auto const& y) { return dot(constant(W), y); }, w) +
                apart([&](auto const& y) { return dot(constant(y.value()), y); }, x); // x . x with one of them held
       }))
    CHECK(e <= 1e-14);
}

TEST_CASE("a loss that no argument reaches has a value and zero gradients") {
  auto const x = random<double>({12}, 1), c = random<double>({12}, 2);
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto dx = distribute<Shard<0>>(x, m), dc = distribute<Shard<0>>(c, m);
    auto [value, g] = value_and_gradient([&](auto const&) { return squared_norm(dc); }, dx);
    return std::array<double, 2>{std::abs(value - squared_norm(c)), norm(gather(g))};
  });
  for (auto const& rank : errors) CHECK((rank[0] <= 1e-13 && rank[1] == 0));
}

TEST_CASE("a loss that ranks have copies of, or numbers of their own, is differentiated as a pending sum") {
  auto const x = random<double>({12}, 1);
  sla::vector<double> const of_norm = x / norm(x), of_square = 2.0 * x;
  auto const errors = threads::run(4, [&](auto& world) {
    mesh<axis<"dp", 2>, axis<"tp", 2>> m(world);
    auto const dx = distribute<Replicate, Shard<0>>(x, m);
    auto const [value, g] = value_and_gradient([](auto const& v) { return convert<"tp", Partial<>>(convert<"dp", Partial<>>(norm(v))); }, dx);
    auto const [square, h] = value_and_gradient([](auto const& v) { return convert<"dp", Partial<>>(dot(v, v)); }, dx);
    static_assert(has_placements<decltype(g), Partial<>, Shard<0>>);
    mesh<axis<"rows">> line(world);
    auto const own = reinterpret<"rows", Varying>(distribute<Replicate>(x, line), expert);
    auto const [sum, k] = value_and_gradient([](auto const& v) { return reinterpret<"rows", Partial<>>(dot(v, v)); }, own);
    return std::array<double, 6>{std::abs(value - norm(x)), norm(gather(g) - of_norm), std::abs(square - squared_norm(x)), norm(gather(h) - of_square),
                                 std::abs(sum - 4.0 * squared_norm(x)), norm(k.local() - of_square)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-12);
}

TEST_CASE("on real matrices, gradients through products are those of one rank to rounding, through solves to their tolerance") {
  int const ranks = GENERATE(1, 2, 4);
  auto const A = read_matrix_market<double>(data("orsirr_1.mtx"));
  auto K = read_matrix_market<double>(data("nos5.mtx"));
  K = K / double(norm_inf(values(K)));  // of condition 1e4
  auto const C = read_matrix_market<std::complex<double>>(data("young1c.mtx"));
  auto const product = [](auto const& a, auto const& v, auto const& w) { return real(dot(w, a * v)) + squared_norm(transpose(a) * v); };
  auto const misfit = [](auto const& a, auto const& v, auto const& w) { return 0.5 * squared_norm(solve(a, v, cg{.rtol = 1e-12}, jacobi{}) - w); };
  auto const apart = [&](auto const& matrix, auto const& f) {
    using T = typename std::remove_cvref_t<decltype(matrix)>::value_type;
    auto const v = random<T>({matrix.rows()}, 1), w = random<T>({matrix.rows()}, 2);
    auto const [value, gA, gv] = value_and_gradient([&](auto const& a, auto const& x) { return f(a, x, w); }, matrix, v);
    return suite::largest_error(ranks, [&, value = value, &gA = gA, &gv = gv](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(matrix, m, strips{});
      auto dw = distribute(w, D.row_layout());
      auto [total, dA, g] = value_and_gradient([&](auto const& a, auto const& x) { return f(a, x, dw); }, D, distribute(v, D.row_layout()));
      return std::array<double, 3>{std::abs(total - value) / std::abs(value), double(norm(gather(g) - gv)) / double(norm(gv)),
                                   double(norm(values(gather(dA)) - values(gA))) / double(norm(values(gA)))};
    });
  };
  CHECK(apart(A, product) <= 1e-12);
  CHECK(apart(C, product) <= 1e-12);
  CHECK(apart(K, misfit) <= 1e-7);  // ten times tolerance times condition
}
} // namespace test_gradient
