// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches past folds, against shooting, Richardson's extrapolation and closed forms; and pseudo-transient continuation.
#include <sla/nonlinear.hpp>

#include "catch.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// -Laplacian u = lambda exp(u) on a square or an interval, n inner points a side.
struct bratu_branch {
  sparse_tensor<double> A;
  index_t n;
  double square_of_h = 1.0 / double((n + 1) * (n + 1));
  template <class U, class L>
  auto operator()(U const& u, L const& lambda) const {
    return A * u - (square_of_h * lambda) * exp(u);
  }
};
bratu_branch bratu_line(index_t n) { return {problems::poisson<double>({n}), n}; }

/// The lambda of the discrete solution on an interval whose largest element is m, by shooting from the middle: a second implementation.
double shot(index_t n, double m) {
  double low = 0, high = 4;
  for (int k = 0; k < 60; ++k) {
    double const lambda = (low + high) / 2, c = lambda / double((n + 1) * (n + 1));
    double last = m, u = m - c * std::exp(m) / 2;
    for (index_t i = 1; i < (n + 1) / 2; ++i) last = std::exchange(u, 2 * u - last - c * std::exp(u));
    (u > 0 ? low : high) = lambda;
  }
  return (low + high) / 2;
}
double shot_fold(index_t n) {
  double a = 0.5, b = 2;  // golden sections
  for (int k = 0; k < 60; ++k) {
    double const g = 0.3819660112501051 * (b - a);
    (shot(n, a + g) < shot(n, b - g) ? a : b) = shot(n, a + g) < shot(n, b - g) ? a + g : b - g;
  }
  return shot(n, (a + b) / 2);
}
/// The fold that a branch has, its only one.
template <class B>
double only_fold(B const& b) {
  INFO(b.report);
  REQUIRE(b.report.folds == 1);
  for (auto const& p : b.points)
    if (p.fold) return p.lambda;
  return 0;
}
auto const circle = [](auto const& u, auto const& lambda) { return u * u + lambda * lambda - 1.0; };
} // namespace

TEST_CASE("trace_branch follows Bratu's problem past its fold to the upper branch, each point as shooting has it") {
  index_t const n = 31;
  auto const f = bratu_line(n);
  auto const [points, report] = trace_branch(f, zeros<double>(n), 0.0, arclength{.step = 0.2, .steps = 100, .least_lambda = 0.5});
  INFO(report);
  CHECK(report.converged());
  CHECK(report.why == "until lambda left its range");
  CHECK(points.size() == std::size_t(report.iterations() + report.folds + 1));
  bool past = false;
  double worst = 0;
  for (auto const& p : points) {
    CHECK(double(norm(f(p.u, p.lambda))) == Approx(p.residual).margin(1e-300));
    CHECK(p.residual <= 1e-9);
    CHECK(p.norm == double(norm(p.u)));
    if (p.lambda > 0.01) CHECK(p.lambda == Approx(shot(n, double(max(p.u)))).epsilon(1e-9));
    if (past) CHECK(double(max(p.u)) > 1.18);
    past = past || p.fold, worst = (std::max)(worst, p.residual);
  }
  CHECK(worst == report.residual());
  CHECK(points.back().lambda < 0.5);
  CHECK(double(max(points.back().u)) > 4);
  CHECK_THAT(text(report), ContainsSubstring("trace_branch: 1 fold in ") && ContainsSubstring("until lambda left its range"));
}
TEST_CASE("trace_branch locates Bratu's folds: those of the discrete problem, and of the continuous one by extrapolation, on a line and a square") {
  arclength const to_fold{.step = 0.5, .steps = 12, .least_lambda = 0, .keep_u = false};
  double const coarse = only_fold(trace_branch(bratu_line(15), zeros<double>(15), 0.0, to_fold)), fine = only_fold(trace_branch(bratu_line(31), zeros<double>(31), 0.0, to_fold));
  CHECK(coarse == Approx(shot_fold(15)).epsilon(1e-10));
  CHECK(fine == Approx(shot_fold(31)).epsilon(1e-10));
  CHECK(only_fold(trace_branch(bratu_line(15), zeros<double>(15), 0.0, to_fold, gmres{.rtol = 0.1})) == Approx(coarse).epsilon(1e-10));  // refined
  // linear solves that fail near the fold: it is found, or the steps end before it
  auto const poor = trace_branch(bratu_line(7), zeros<double>(7), 0.0, to_fold, gmres{.restart = 3, .rtol = 0.1, .max_iterations = 40});
  for (auto const& p : poor.points) CHECK((p.residual <= 1e-8 && (!p.fold || p.lambda == Approx(shot_fold(7)).epsilon(1e-10))));
  CHECK(fine + (fine - coarse) / 3 == Approx(3.513830719).epsilon(1e-6));
  auto const square = [&](index_t n) { return only_fold(trace_branch(bratu_branch{problems::poisson<double>({n, n}), n}, zeros<double>(n * n), 0.0, to_fold)); };
  double const s = square(5), t = square(11);
  CHECK(t + (t - s) / 3 == Approx(6.808124).epsilon(1e-3));
  CHECK(std::abs(t - 6.808124) < 0.3 * std::abs(s - 6.808124));
}
TEST_CASE("trace_branch goes round a circle, in both directions, and past a Jacobian that is zero") {
  auto const round = [](double step) {
    auto const [points, report] = trace_branch(circle, ones<double>(1), 0.0, arclength{.step = step, .steps = 25, .max_step = 0.3});
    INFO(report);
    CHECK(report.folds >= 2);
    double sign = step > 0 ? 1 : -1, length = 0;
    bool below = false;
    for (auto const& p : points) {
      length += p.fold ? 0 : p.step;
      CHECK(std::abs(p.u[0] * p.u[0] + p.lambda * p.lambda - 1) <= 1e-12);
      below = below || p.u[0] < -0.9;
      if (p.fold) {
        CHECK(p.lambda == Approx(sign).epsilon(1e-12));
        CHECK(std::abs(p.u[0]) <= 1e-6);
        sign = -sign;
      }
    }
    CHECK(below);
    CHECK(length == Approx(25 * 0.3).epsilon(0.2));
  };
  round(0.1);
  round(-0.1);
  for (auto const& p : trace_branch(circle, ones<double>(1), 0.0, arclength{.step = 0.9, .steps = 10}).points) CHECK(p.step < 0.75);  // at most 37 degrees
  double const k = 7.0 / 36;  // the tangent (24, 7) / 25 leads exactly to u = 0, where dF/du = 2 k u is zero
  auto const b = trace_branch([&](auto const& u, auto const& lambda) { return k * u * u + lambda; }, full<double>(1, -0.75), -k * 0.5625, arclength{.step = 0.78125, .steps = 1, .max_step = 1});
  CHECK(std::abs(only_fold(b)) <= 1e-12);
  CHECK(b.report.rejected == 0);
}
TEST_CASE("trace_branch says where and why it cannot go on, and keeps the points so far") {
  auto const ends = [](auto const& u, auto const& lambda) { return sqrt(u) - (1.0 - lambda); };
  auto const [points, report] = trace_branch(ends, ones<double>(1), 0.0, arclength{.step = 0.1, .min_step = 1e-3});
  CHECK_FALSE(report.converged());
  CHECK(report.reason() == reason::not_a_number);
  CHECK_THAT(report.why, ContainsSubstring("below {.min_step = 0.001}: F is ") && ContainsSubstring("nan at element 0 and lambda = "));
  REQUIRE(points.size() > 2);
  CHECK(points.back().u[0] == Approx(std::pow(1 - points.back().lambda, 2)).epsilon(1e-6));

  auto const start = ones<double>(1);
  CHECK_THROWS_WITH(trace_branch(circle, start, 2.0, arclength{}), ContainsSubstring("finds no solution at lambda0 = 2 from u0") && ContainsSubstring("away from a fold"));
  CHECK_THROWS_WITH(trace_branch(circle, zeros<double>(1), 1.0, arclength{}), ContainsSubstring("away from a fold"));
  CHECK_THROWS_WITH(trace_branch(ends, full<double>(1, -1.0), 0.0, arclength{}), ContainsSubstring("nan at element 0, in iteration 0; begin where F is finite"));
  CHECK_THROWS_WITH(trace_branch(circle, start, std::nan(""), arclength{}), ContainsSubstring("lambda0 is nan"));
  CHECK_THROWS_WITH(trace_branch(circle, start, 0.0, arclength{.step = 0}), ContainsSubstring("arclength{.step = 0, .min_step = 1e-06, .max_step = 1}"));
  CHECK_THROWS_WITH(trace_branch(circle, start, 0.0, arclength{.step = 2}), ContainsSubstring("the size of .step is from it to .max_step"));
  CHECK_THROWS_WITH(trace_branch(circle, start, 0.0, arclength{.steps = -1}), ContainsSubstring("{.steps = -1"));
  CHECK_THROWS_WITH(trace_branch(circle, start, 0.0, arclength{.rtol = 0}), ContainsSubstring("{.rtol = 0}"));
  for (double least : {1.0, std::nan("")}) CHECK_THROWS_WITH(trace_branch(circle, start, 0.0, arclength{.least_lambda = least, .most_lambda = 0}), ContainsSubstring(text("arclength{.least_lambda = ", least, ", .most_lambda = 0}")));
  CHECK_THROWS_WITH(trace_branch(circle, start, 0.0, arclength{.lambda_scale = -1}), ContainsSubstring("{.lambda_scale = -1}"));
}
TEST_CASE("trace_branch on the deferred queue has the points and folds of the host, by factors and by Krylov methods") {
  index_t const n = 15;
  auto const f = bratu_line(n);
  arclength const to_fold{.step = 0.5, .steps = 12, .least_lambda = 0};
  auto const alone = trace_branch(f, zeros<double>(n), 0.0, to_fold);
  only_fold(alone);
  for (int lag : {0, 4}) {
    int spaces = 0;
    auto const queue = on([lag, &spaces](frame l) { return ++spaces, deferred(l, lag); });
    auto const check = [&](auto const&... linear) {
      spaces = 0;
      auto const b = trace_branch(f, zeros<double>(n), 0.0, to_fold, linear..., queue);
      INFO(b.report);
      CHECK(spaces > 0);
      REQUIRE(b.points.size() == alone.points.size());
      CHECK(only_fold(b) == Approx(only_fold(alone)).epsilon(1e-10));
      for (std::size_t k = 0; k < b.points.size(); ++k) {
        auto const &p = b.points[k], &q = alone.points[k];
        CHECK(p.fold == q.fold);
        CHECK(p.residual == Approx(double(norm(f(p.u, p.lambda)))).margin(1e-14));
        CHECK(p.lambda == Approx(q.lambda).epsilon(1e-7));
        if (!p.fold) CHECK(norm(p.u - q.u) <= 1e-6 * (1 + q.norm));
      }
    };
    check();
    check(gmres{.restart = 16, .rtol = 1e-12}, ilu0{});
  }
}
TEST_CASE("pseudo_transient finds a steady state where newton with a line search ends in a minimum of |F|, and says why it cannot go on") {
  index_t const n = 40;
  auto const A = problems::poisson<double>({n});
  auto const f = [&](auto const& u) { return 0.5 * (A * u) + u * u * u - 2.0 * u + 2.0; };
  auto const u0 = full<double>(n, 0.8);
  CHECK_FALSE(try_nonlinear_solve(f, u0, newton{}).report.converged());
  auto const [u, report] = nonlinear_solve(f, u0, pseudo_transient{.rtol = 1e-11, .dt0 = 0.1});
  INFO(report);
  CHECK(report.converged());
  CHECK(double(norm(f(u))) <= 1e-11 * double(norm(f(u0))));
  CHECK(u[n / 2] == Approx(-1.7692923542386314).epsilon(1e-6));  // the root of u^3 - 2 u + 2
  CHECK(report.step_lengths.front() == 0.1);
  CHECK(report.step_lengths[1] == Approx(0.1 * report.history[0] / report.history[1]).epsilon(1e-12));
  CHECK_THAT(text(report), ContainsSubstring("dt from 0.1 to "));

  auto const bounded = [](auto const& v) { return sqrt(v) + 1.0; };  // v' = -F goes to where F is no number
  auto const s = try_nonlinear_solve(bounded, ones<double>(2), pseudo_transient{.least_dt = 1e-3});
  CHECK(s.report.reason() == reason::not_a_number);
  CHECK_THAT(s.report.why, ContainsSubstring("below {.least_dt = 0.001}: F is ") && ContainsSubstring("nan at element 0"));
  CHECK_THROWS_WITH(nonlinear_solve(bounded, ones<double>(2), pseudo_transient{.dt0 = 0}), ContainsSubstring("pseudo_transient{.dt0 = 0, .least_dt = 1e-12") && ContainsSubstring("are positive"));
}
