// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of solutions of nonlinear systems to their parameters, with bounds and without: <w, J d> = <J^H w, d> and Taylor remainders
// of rate 2, by every method.
#include <sla/nonlinear.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using gradient::check_dual;

namespace {
auto const K = problems::convection_diffusion<double>({6, 5}, {20.0, -10.0});
auto const start = zeros<double>(30);
/// A u + a u^3 - b.
auto const cubic = [](auto const& u, auto const& A, auto const& a, auto const& b) { return A * u + a * (u * u * u) - b; };
vector<double> const force = 1.0 + random<double>(30, 4);
double const weight = 0.3;
} // namespace

TEST_CASE("nonlinear_solve has derivatives to numbers, tensors and sparse tensors at once, by every method and linear method") {
  auto const by = [](auto const&... method) {
    return [=](auto const& A, auto const& a, auto const& b) { return nonlinear_solve(cubic, start, method..., A, a, b).x; };
  };
  auto const x = std::tie(K, weight, force);
  check_dual(by(newton{.rtol = 1e-13}), x, {.h = 1e-4, .accuracy = 1e-8});
  check_dual(by(newton{.rtol = 1e-13}, lu{}), x, {.h = 1e-4});
  check_dual(by(pseudo_transient{.rtol = 1e-13}, lu{}), x, {.h = 1e-4});
  check_dual(by(newton_krylov{.rtol = 1e-13}), x, {.h = 1e-4, .accuracy = 1e-8});
  check_dual(by(newton_krylov{.rtol = 1e-13, .precondition = ilu0{}}), x, {.h = 1e-4, .accuracy = 1e-8});
  check_dual(by(anderson{.rtol = 1e-13, .precondition = ilu0{}}), x, {.h = 1e-4, .accuracy = 1e-8});
  check_dual(by(picard{.rtol = 1e-13, .max_iterations = 5000, .damping = 0.5, .precondition = ilu0{}}), x, {.h = 1e-4, .accuracy = 1e-8});
}
TEST_CASE("the derivative of nonlinear_solve is -dF/du^-1 dF/dp, from one system set up once, and is none where the solve failed") {
  auto const f = [](auto const& u, auto const& b) { return K * u + u * u * u - b; };
  auto const u = nonlinear_solve(f, start, newton{.rtol = 1e-14}, force).x;
  auto const d = random<double>(30, 5);
  auto const J = eval(K + diagonal(eval(3.0 * u * u)));
  auto const [y, dy] = jvp([&](auto const& b) { return nonlinear_solve(f, start, newton{.rtol = 1e-14}, lu{}, b).x; }, std::tie(force), std::tie(d));
  CHECK(norm(dy - solve(J, d, lu{})) <= 1e-12 * norm(dy));
  auto const [back, g] = vjp([&](auto const& b) { return nonlinear_solve(f, start, newton{.rtol = 1e-14}, lu{}, b).x; }, std::tie(force), d);
  CHECK(norm(g - solve(transpose(J), d, lu{})) <= 1e-12 * norm(g));
  auto const half = [&](auto const& b) { return sum(1.0 * try_nonlinear_solve(f, start, newton{.rtol = 0, .max_iterations = 1}, b).x); };
  CHECK_THROWS_AS(value_and_gradient(half, force), nonlinear_error);
}
TEST_CASE("complex systems and expressions among the parameters have derivatives") {
  auto const C = cast<std::complex<double>>(K);
  std::complex<double> const s(0.3, 0.1);
  auto const z = zeros<std::complex<double>>(30);
  auto const b = random<std::complex<double>>(30, 6);
  check_dual([&](auto const& a, auto const& q) { return nonlinear_solve([&](auto const& u, auto const& c, auto const& r) { return C * u + c * (u * u) - r; }, z, newton{.rtol = 1e-13}, lu{}, a, 0.5 * q).x; },
             std::tie(s, b), {.accuracy = 1e-10});
}
TEST_CASE("solve_bounded has derivatives to parameters and bounds through the final active set") {
  auto const A = problems::poisson<double>({30});
  vector<double> const psi = 0.3 + 0.1 * random<double>(30, 8), roof = 0.8 + 0.1 * random<double>(30, 9);
  vector<double> const push = 0.02 * (1.0 + 4.0 * random<double>(30, 10));
  auto const f = [&](auto const& u, auto const& a, auto const& b) { return A * u + a * (u * u * u) - b; };
  double const a = 0.01;
  auto const check = [&](auto const&... method) {
    auto const solved = [&](auto const& l, auto const& h, auto const& c, auto const& b) { return solve_bounded(f, zeros<double>(30), lower{l}, upper{h}, method..., c, b).x; };
    auto const s = solve_bounded(f, zeros<double>(30), lower{psi}, upper{roof}, method..., a, push);
    REQUIRE(s.report.bound_lower > 0);
    REQUIRE(s.report.bound_lower + s.report.bound_upper < 30);
    check_dual(solved, std::tie(psi, roof, a, push), {.h = 1e-5, .accuracy = 1e-9});
  };
  check(semismooth_newton{.rtol = 1e-13});
  check(active_set{.rtol = 1e-13}, lu{});
}
TEST_CASE("solve_bounded refuses a derivative where strict complementarity fails, and gives values there") {
  auto const f = [](auto const& u, auto const& b) { return u - b; };
  vector<double> const b{1.0, 0.0, -1.0};
  auto const loss = [&](auto const& c) { return sum(1.0 * solve_bounded(f, zeros<double>(3), lower{0.0}, semismooth_newton{.rtol = 1e-12}, c).x); };
  CHECK(double(loss(b)) == Approx(1));
  CHECK_THROWS_WITH(value_and_gradient(loss, b), ContainsSubstring("strict complementarity fails at element 1, the first of 1"));
  auto const moved = vector<double>{1.0, 0.1, -1.0};
  auto const g = std::get<1>(value_and_gradient(loss, moved));
  CHECK(norm(g - vector<double>{1.0, 1.0, 0.0}) == 0);
}
