// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Systems with bounds: obstacle problems whose free boundary is known, quadratic programs against enumeration of active sets, and bad input.
#include <sla/nonlinear.hpp>

#include "catch.hpp"
#include "suites/dense.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {
/// u is in its bounds, F has the right sign at each, and vanishes between, to a tolerance; the report counts who is held.
template <class V>
void is_complementary(V const& F, V const& u, V const& low, V const& high, nonlinear_report const& report, double tolerance) {
  INFO(report);
  CHECK(report.converged());
  int at_low = 0, at_high = 0;
  for (index_t i = 0; i < u.size(); ++i) {
    CHECK((u[i] >= low[i] && u[i] <= high[i]));
    if (u[i] > low[i]) CHECK(F[i] <= tolerance);
    if (u[i] < high[i]) CHECK(F[i] >= -tolerance);
    at_low += u[i] == low[i], at_high += u[i] == high[i];
  }
  CHECK(report.bound_lower == at_low);
  CHECK(report.bound_upper == at_high);
}
auto const none = std::numeric_limits<double>::infinity();
/// The x of all choices of elements at the lower bound, the upper one or neither that fulfils the conditions: A x - f = 0 where free.
std::vector<double> by_enumeration(sparse_tensor<double> const& A, vector<double> const& f, double low, double high) {
  index_t const n = A.rows();
  int choices = 1;
  for (index_t i = 0; i < n; ++i) choices *= 3;
  for (int code = 0; code < choices; ++code) {
    std::vector<double> M = oracle::dense(A), b(f.begin(), f.end());
    for (index_t i = 0, c = code; i < n; ++i, c /= 3)
      if (c % 3 > 0) {
        for (index_t j = 0; j < n; ++j) M[std::size_t(i * n + j)] = i == j;
        b[std::size_t(i)] = c % 3 == 1 ? low : high;
      }
    auto const x = oracle::solution(M, b, n);
    vector<double> const r = A * vector<double>(x) - f;
    bool ok = true;
    for (index_t i = 0, c = code; i < n; ++i, c /= 3) {
      double const v = x[std::size_t(i)];
      ok = ok && v >= low - 1e-12 && v <= high + 1e-12 && (c % 3 == 0 || (c % 3 == 1 ? r[i] >= -1e-12 : r[i] <= 1e-12));
    }
    if (ok) return x;
  }
  return {};
}
} // namespace

TEST_CASE("a string over a parabola touches it where its tangents through the ends do") {
  // psi = 1 - 8 (x - 1/2)^2: the tangent at a through (0, 0) has psi(a) = a psi'(a): 1 - 8 (a - 1/2)^2 = 16 a (1/2 - a), a = sqrt(1/8).
  index_t const n = 199;
  auto const A = problems::poisson<double>({n});
  auto const x = linspace(1.0 / 200, 199.0 / 200, n);
  vector<double> const psi = 1.0 - 8.0 * (x - 0.5) * (x - 0.5);
  auto const F = [&](auto const& u) { return A * u; };
  double const touch = std::sqrt(0.125), slope = 16 * (0.5 - touch);
  auto const check = [&](auto const& method) {
    auto const [u, report] = solve_bounded(F, zeros<double>(n), lower{psi}, method);
    is_complementary<vector<double>>(F(u), u, psi, full<double>(n, none), report, 1e-12);
    for (index_t i = 0; i < n; ++i) {
      double const away = (std::min)(x[i], 1 - x[i]);
      CHECK(u[i] == Approx(away < touch ? slope * away : psi[i]).margin(2e-4));  // of second order
    }
    CHECK(std::abs(report.bound_lower - 200 * (1 - 2 * touch)) <= 3);
    CHECK(report.iterations() <= 60);  // the set shrinks by a point or two on each side and step
  };
  check(semismooth_newton{.rtol = 1e-12});
  check(active_set{.rtol = 1e-12});
}
TEST_CASE("a torsion bar, plastic where its stress function meets the distance: bounds on both sides mirror each other") {
  auto const A = problems::poisson<double>({20, 20});
  vector<double> const f = 0.05 * ones<double>(400);
  auto const F = [&](auto const& u) { return A * u - f; };
  auto const minus = [&](auto const& u) { return A * u + f; };
  auto const up = solve_bounded(F, zeros<double>(400), upper{0.8}, semismooth_newton{.rtol = 1e-11});
  auto const down = solve_bounded(minus, zeros<double>(400), lower{-0.8}, semismooth_newton{.rtol = 1e-11}, lu{});
  CHECK(up.report.bound_upper > 10);
  CHECK(norm(up.x + down.x) <= 1e-9 * norm(up.x));
  is_complementary<vector<double>>(F(up.x), up.x, full<double>(400, -none), full<double>(400, 0.8), up.report, 1e-9);
  CHECK_THAT(text(up.report), ContainsSubstring("complementarity residual") && ContainsSubstring("at their upper"));
}
TEST_CASE("both bounds, matrices without symmetry: the solution that enumeration finds") {
  for (std::uint64_t seed : {1, 2, 3, 4}) {
    auto const A = problems::convection_diffusion<double>({3, 2}, {20.0, -10.0});
    vector<double> const f = 6.0 * random<double>(6, seed);
    auto const F = [&](auto const& u) { return A * u - f; };
    auto const expected = by_enumeration(A, f, -0.4, 0.3);
    REQUIRE(expected.size() == 6);
    auto const a = solve_bounded(F, zeros<double>(6), lower{-0.4}, upper{full<double>(6, 0.3)}, semismooth_newton{.rtol = 1e-12});
    auto const b = solve_bounded(F, ones<double>(6), upper{0.3}, lower{-0.4}, active_set{.rtol = 1e-12}, lu{});
    CHECK(norm_inf(a.x - vector<double>(expected)) <= 1e-10);
    CHECK(norm_inf(b.x - vector<double>(expected)) <= 1e-10);
  }
}
TEST_CASE("nonlinear F with bounds, parameters behind the method, and bounds that do not matter") {
  auto const A = problems::poisson<double>({30});
  auto const F = [&](auto const& u, double a) { return A * u + a * u * u * u - 0.02; };
  auto const free = nonlinear_solve(F, zeros<double>(30), newton{.rtol = 1e-12}, 0.1);
  auto const wide = solve_bounded(F, zeros<double>(30), lower{-9.0}, upper{9.0}, semismooth_newton{.rtol = 1e-12}, 0.1);
  CHECK(norm(free.x - wide.x) <= 1e-9 * norm(free.x));
  CHECK(wide.report.bound_lower + wide.report.bound_upper == 0);
  auto const s = solve_bounded(F, zeros<double>(30), upper{0.5}, semismooth_newton{.rtol = 1e-12}, 0.1);
  is_complementary<vector<double>>(F(s.x, 0.1), s.x, full<double>(30, -none), full<double>(30, 0.5), s.report, 1e-11);
  CHECK(s.report.bound_upper > 0);
  auto from = s.x;
  for (int again = 0; again < 3; ++again) {  // from a solution: rounding is enough
    auto const t = solve_bounded(F, from, upper{0.5}, semismooth_newton{.rtol = 1e-12}, 0.1);
    is_complementary<vector<double>>(F(t.x, 0.1), t.x, full<double>(30, -none), full<double>(30, 0.5), t.report, 1e-14);
    from = t.x;
    auto const full_steps = solve_bounded(F, from, lower{-9.0}, upper{0.5}, active_set{}, 0.1);
    is_complementary<vector<double>>(F(full_steps.x, 0.1), full_steps.x, full<double>(30, -9.0), full<double>(30, 0.5), full_steps.report, 1e-14);
  }
  auto const queued = solve_bounded(F, zeros<double>(30), upper{0.5}, semismooth_newton{.rtol = 1e-12}, on([](frame l) { return deferred(l, 4); }), 0.1);
  CHECK(norm(queued.x - s.x) <= 1e-12);
  CHECK(norm(solve_bounded(F, zeros<double>(30), upper{0.5}, active_set{.rtol = 1e-12}, on([](frame l) { return deferred(l, 4); }), 0.1).x - s.x) <= 1e-12);
  auto const fixed = solve_bounded(F, zeros<double>(30), lower{0.25}, upper{0.25}, active_set{}, 0.1);
  CHECK(norm_inf(fixed.x - 0.25) == 0);
}
TEST_CASE("without a method it is semismooth_newton, and where that fails active_set; parameters are traced as with one") {
  auto const A = problems::poisson<double>({30});
  auto const F = [&](auto const& u, auto const& a) { return A * u + a * u * u * u - 0.02; };
  auto const s = solve_bounded(F, zeros<double>(30), upper{0.5}, 0.1);
  is_complementary<vector<double>>(F(s.x, 0.1), s.x, full<double>(30, -none), full<double>(30, 0.5), s.report, 1e-8);
  CHECK(s.report.method == "semismooth_newton");
  auto const [value, slope] = value_and_gradient([&](auto const& a) { return sum(solve_bounded(F, zeros<double>(30), upper{0.5}, a).x); }, 0.1);
  auto const [same, other] = value_and_gradient([&](auto const& a) { return sum(solve_bounded(F, zeros<double>(30), upper{0.5}, semismooth_newton{}, a).x); }, 0.1);
  CHECK((value == same && slope == other && slope < 0));
  // Steps along which the residual grows first, over a hill of F between u0 and the root.
  auto const hill = [](auto const& u) { return u * u * u - 3.0 * u + 3.0; };  // its minimum at 1 is 1; the root is -2.10
  auto const over = try_solve_bounded(hill, full<double>(1, 1.05), lower{-9.0}, upper{9.0});
  auto const searched = try_solve_bounded(hill, full<double>(1, 1.05), lower{-9.0}, upper{9.0}, semismooth_newton{});
  INFO(searched.report << '\n' << over.report);
  CHECK_FALSE(searched.report.converged());
  CHECK((over.report.converged() && over.report.method == "active_set" && norm_inf(hill(over.x)) <= 1e-7));
  CHECK_THAT(over.report.why, ContainsSubstring("tried: semismooth_newton: "));
  auto const moved = [&](auto const& p) { return sum(solve_bounded([](auto const& u, auto const& q) { return u * u * u - 3.0 * u + q; }, full<double>(1, 1.05), lower{-9.0}, upper{9.0}, p).x); };
  double const root = over.x[0], by_hand = -1 / (3 * root * root - 3);
  CHECK(std::get<1>(value_and_gradient(moved, 3.0)) == Approx(by_hand).epsilon(1e-6));
  CHECK(std::get<1>(jvp(moved, std::tuple(3.0), std::tuple(1.0))) == Approx(by_hand).epsilon(1e-6));  // where what fails throws
}
TEST_CASE("full steps are not taken to go round where large elements of u hide that small ones move") {
  vector<double> const c{1e12, 0.0}, k{1e-12, 0.0}, q{0.0, 1.0};
  auto const F = [&](auto const& u) { return k * (u - c) + q * (u * u * u) - q; };
  auto const s = try_solve_bounded(F, vector<double>{1e12, 1.01}, lower{-1e30}, active_set{});
  INFO(s.report);
  CHECK((s.report.converged() && s.report.steps >= 2));
  CHECK(std::abs(s.x[1] - 1) <= 1e-7);
}
TEST_CASE("a problem without a solution ends soon, and says why") {
  auto const A = problems::poisson<double>({20});
  auto const bratu = [&](auto const& u) { return A * u - 5.0 * exp(u); };  // past the fold
  for (double low : {0.0, -none}) {
    auto const s = try_solve_bounded(bratu, zeros<double>(20), lower{low}, upper{none}, semismooth_newton{});
    INFO(s.report);
    CHECK((s.report.reason() == reason::stagnated && s.report.steps <= 60));
    CHECK_THAT(s.report.why, ContainsSubstring("the last 30 steps reduced the residual by less than a tenth") || ContainsSubstring("no step of iteration"));
  }
  // Full steps go round three sets of a P-matrix of three rows (Ben Gharbia and Gilbert, Math. Program. 134 (2012) 349); the solution is 1/3.
  auto const K = from_triplets<double>(3, 3, {0, 0, 1, 1, 2, 2}, {0, 1, 1, 2, 2, 0}, {1.0, 2.0, 1.0, 2.0, 1.0, 2.0});
  auto const F = [&](auto const& u) { return K * u - 1.0; };
  vector<double> const start{0.0, 0.0, 1.0};
  auto const round = try_solve_bounded(F, start, lower{0.0}, active_set{});
  INFO(round.report);
  CHECK((round.report.reason() == reason::stagnated && round.report.steps <= 8));
  CHECK_THAT(round.report.why, ContainsSubstring("full steps go round; take semismooth_newton{}"));
  CHECK(norm_inf(solve_bounded(F, start, lower{0.0}).x - 1.0 / 3) <= 1e-7);
}
TEST_CASE("bounds that cross, are NaN or of another length are refused with their element") {
  auto const F = [](auto const& u) { return u - 1.0; };
  auto const start = zeros<double>(4);
  CHECK_THROWS_WITH(solve_bounded(F, start, lower{vector<double>{0.0, 0.0, 2.0, 0.0}}, upper{1.0}, semismooth_newton{}), ContainsSubstring("element 2 are 2 and 1"));
  CHECK_THROWS_WITH(solve_bounded(F, start, lower{std::nan("")}, semismooth_newton{}), ContainsSubstring("element 0 are nan and inf"));
  CHECK_THROWS_WITH(solve_bounded(F, start, lower{std::numeric_limits<double>::infinity()}), ContainsSubstring("element 0 are inf and inf; a finite number has to be in them"));
  CHECK_THROWS_WITH(solve_bounded(F, start, lower{zeros<double>(5)}, semismooth_newton{}), ContainsSubstring("5 elements, and u 4"));
  CHECK_THROWS_WITH(solve_bounded([](auto const& u) { return sqrt(u - 2.0); }, start, lower{0.0}, active_set{}), ContainsSubstring("nan at element 0"));
  auto const limited = try_solve_bounded([](auto const& u) { return exp(u) - 0.1; }, start, lower{-9.0}, semismooth_newton{.rtol = 0, .max_iterations = 2});
  CHECK(limited.report.reason() == reason::iteration_limit);
  CHECK_THROWS_AS(solve_bounded([](auto const& u) { return exp(u) - 0.1; }, start, lower{-9.0}, semismooth_newton{.rtol = 0, .max_iterations = 2}), nonlinear_error);
  CHECK_THROWS_WITH(solve_bounded([](auto const& u) { return exp(u) - 0.1; }, start, lower{-9.0}, semismooth_newton{.rtol = 0, .max_iterations = 2}), StartsWith("solve_bounded: semismooth_newton: iteration limit"));
}
