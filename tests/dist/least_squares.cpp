// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A method whose operators need not be square, on thread ranks: x in the layout of the columns, as of one rank; its products with the
// adjoint send the halo back.
#include <complex>

#include <sla/dist.hpp>
#include <sla/least_squares.hpp>

#include "catch.hpp"
#include "suites/dual_on_ranks.hpp"
#include "suites/least_squares.hpp"
#include "suites/mesh.hpp"
#include "suites/spread.hpp"

namespace test_least_squares_on_ranks {

using namespace sla;

TEST_CASE("a toy method for least squares on ranks finds what one rank finds") {
  using Rows = mesh<axis<"rows">>;
  auto const check = [](auto const& A) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const b = random<T>(A.rows(), 5);
    auto const alone = try_solve(A, b, suite::cgls{});
    REQUIRE(alone.report.converged());
    for (int ranks : {1, 3})
      CHECK(suite::largest_error(ranks, [&](auto& world) {
              Rows m(world);
              auto const D = distribute<SparseShard<0>>(A, m);
              auto const R = distribute<Replicate>(A, m);
              auto const [x, report] = try_solve(D, distribute(b, D.row_layout()), suite::cgls{});
              auto const s = prepare(D, suite::cgls{});
              auto const g = random<T>(A.cols(), 6);
              auto const back = gather(s.solve_adjoint(distribute(g, D.col_layout())));
              auto const copied = solve(R, distribute(b, R.row_layout()), suite::cgls{});
              double const iterations = std::abs(report.iterations() - alone.report.iterations());
              return std::array<double, 4>{double(norm(gather(x) - alone.x) / norm(alone.x)), iterations > 3 ? 1.0 : 0.0,
                                           double(norm(copied.local() - alone.x) / norm(alone.x)),
                                           std::abs(dot(back, b) - dot(g, alone.x)) / double(norm(back) * norm(b))};
            }) < 1e-8);
  };
  check(suite::scattered<double>(60, 25, 300));
  check(suite::scattered<double>(25, 60, 300));
  check(suite::scattered<std::complex<double>>(40, 30, 300));
  auto const words = suite::words_of(3, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(suite::scattered<double>(60, 25, 300), m);
    (void)solve(D, distribute(ones<double>(60), D.row_layout()), cg{});
  });
  CHECK(words[2].find("A is 60 x 25, and must be square") != std::string::npos);
}

TEST_CASE("least squares on ranks find what one rank finds, with the same numbers in the report, and their derivatives") {
  using Rows = mesh<axis<"rows">>;
  auto const check = [](auto const& A, auto const& method) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const b = random<T>(A.rows(), 5), w = random<T>(A.cols(), 6);
    auto const alone = try_least_squares(A, b, method);
    REQUIRE(alone.report.converged());
    auto const f = [&](auto const& a, auto const& c, auto const& weights) { return real(dot(weights, least_squares(a, c, method))); };
    auto const [value, to_A, to_b] = value_and_gradient([&](auto const& a, auto const& c) { return f(a, c, w); }, A, b);
    for (int ranks : {1, 3})
      CHECK(suite::largest_error(ranks, [&, v = value, to_A = to_A, to_b = to_b](auto& world) {
              Rows m(world);
              auto const D = distribute<SparseShard<0>>(A, m);
              auto const db = distribute(b, D.row_layout());
              auto const [x, report] = try_least_squares(D, db, method);
              auto const dw = distribute(w, D.col_layout());
              auto const [value, to_D, to_db] = value_and_gradient([&](auto const& a, auto const& c) { return f(a, c, dw); }, D, db);
              double const iterations = std::abs(report.iterations() - alone.report.iterations());
              auto const whole = gather(to_D);
              auto const chosen = try_least_squares(D, db);
              bool const is_lsmr = chosen.report.converged() && chosen.report.method == "lsmr";
              return std::array<double, 6>{double(norm(gather(x) - alone.x) / norm(alone.x)),
                                           iterations > 3 || !is_lsmr ? 1.0 : 0.0,
                                           std::abs(report.residual_norm() - alone.report.residual_norm()) / norm(b),
                                           std::abs(value - v) / std::abs(v),
                                           double(norm(values(whole) - values(to_A)) / norm(values(to_A))),
                                           double(norm(gather(to_db) - to_b) / norm(to_b))};
            }) < 1e-8);
  };
  check(suite::scattered<double>(60, 25, 300), lsmr{.rtol = 1e-12});
  check(suite::scattered<double>(25, 60, 300), lsmr{.rtol = 1e-12});
  check(suite::scattered<double>(25, 60, 300), lsqr{.rtol = 1e-12, .damping = 0.5});
  check(suite::scattered<std::complex<double>>(40, 30, 300), cgls{.rtol = 1e-12});
}

TEST_CASE("derivatives of least squares on ranks, of an inconsistent system and with damping, pass the checks of one rank") {
  auto const A = suite::scattered<double>(60, 25, 300);
  auto const b = random<double>(60, 4);
  double const d = 0.5;
  auto const cubes = [](auto const& x) { return sum(x * x * x); };
  gradient::check_dual_on_ranks([&](auto const& a, auto const& c) { return cubes(least_squares(a, c, lsmr{.rtol = 1e-13})); }, std::tie(A, b), {.accuracy = 1e-9});
  gradient::check_dual_on_ranks([&](auto const& a, auto const& c) { return cubes(least_squares(a, c, lsqr{.rtol = 1e-13}, damping(d))); }, std::tie(A, b), {.accuracy = 1e-9});
  gradient::check_dual_on_ranks([&](auto const& a, auto const& c, auto const& e) { return cubes(least_squares(a, c, lsmr{.rtol = 1e-13}, damping(e))); }, std::tie(A, b, d), {.accuracy = 1e-9});
}

TEST_CASE("vectors of two sizes, and numbers that come back, in the space of a mesh") {
  using Rows = mesh<axis<"rows">>;
  auto const A = suite::scattered<double>(1850, 712, 7000);
  auto const v = random<double>(712, 1);
  vector<double> const half = 0.5 * v, u = A * half;
  CHECK(suite::largest_error(3, [&](auto& world) {
          Rows m(world);
          auto const D = distribute<SparseShard<0>>(A, m);
          mesh_space<Rows, false, true> space({}, m);
          auto dv = distribute(v, D.col_layout());
          auto du = space.template like<double>(distribute(u, D.row_layout()));
          auto const [vv, uu] = fuse(space, set(dv, 0.5 * dv), set(du, D * dv), squared_norm_of(dv), squared_norm_of(du));
          space.finish();
          auto const numbers = space.read(uu);
          auto const up = space.scalar(numbers);
          static_assert(std::same_as<std::remove_cvref_t<decltype(up)>, scalar_of_t<mesh_space<Rows, false, true>, double>>);
          fuse(space, set(du, du / up));
          space.finish();
          double const one = double(norm(gather(du) * numbers[0] - u)), sums = std::abs(space.read(vv)[0] - squared_norm(half)) + std::abs(numbers[0] - squared_norm(u));
          return std::array<double, 3>{one, sums, std::abs(double(space.traffic().reductions) - 1)};
        }) < 1e-10);
}

TEST_CASE("statements that are one pass on a rank, and two on another where their vectors have other sizes") {
  using Rows = mesh<axis<"rows">>;
  auto const A = suite::scattered<double>(9, 10, 40), B = suite::scattered<double>(10, 10, 45);
  auto const v = random<double>(10, 1);
  vector<double> const u = A * v, w = B * v;
  CHECK(suite::largest_error(2, [&](auto& world) {
          Rows m(world);
          auto const D = distribute<SparseShard<0>>(A, m), E = distribute<SparseShard<0>>(B, m);
          auto const dv = distribute(v, D.col_layout()), ev = distribute(v, E.col_layout());
          mesh_space<Rows, false, true> space({}, m);
          auto du = space.template like<double>(distribute(u, D.row_layout())), dw = space.template like<double>(distribute(w, E.row_layout()));
          int const made = passes(set(du.local(), 2.0 * du.local()), set(dw.local(), 2.0 * dw.local()));
          auto const [uu, ww] = fuse(space, set(du, D * dv), set(dw, E * ev), squared_norm_of(du), squared_norm_of(dw));
          space.finish();
          return std::array<double, 5>{std::abs(double(made - 1 - world.rank())), double(norm(gather(du) - u)), double(norm(gather(dw) - w)),
                                       std::abs(space.read(uu)[0] - squared_norm(u)), std::abs(space.read(ww)[0] - squared_norm(w))};
        }) < 1e-12);
}

} // namespace test_least_squares_on_ranks
