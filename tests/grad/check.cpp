// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// check_gradient: its outcome on right and wrong gradients, on functions that are linear, constant, not differentiable or not
// finite, on noise; its table.
#include <sla/grad.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor.hpp>

#include <sstream>

#include "catch.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using gradient::untraced;
using Catch::Matchers::ContainsSubstring;

namespace {
index_t const n = 30;
gradient_check_options const quiet{.out = nullptr};
}  // namespace

TEST_CASE("a right gradient has slope 2, a wrong one 1") {
  auto const x = random<double>(n, 1);
  auto const right = check_gradient([](auto const& z) { return sum(exp(z) * z); }, std::tie(x), quiet);
  CHECK((right.passed && right.outcome == gradient_outcome::right));
  CHECK(right.slope == Approx(2).margin(0.05));
  CHECK(right.difference == Approx(right.derivative).epsilon(1e-6));
  CHECK(right.steps.size() == 13);
  // one factor is a constant to the trace: half of the gradient is missing
  auto const wrong = check_gradient([](auto const& z) { return sum(untraced(z) * exp(z)); }, std::tie(x), quiet);
  CHECK((!wrong.passed && wrong.outcome == gradient_outcome::wrong));
  CHECK(wrong.slope == Approx(1).margin(0.05));
  CHECK(wrong.difference == Approx(right.derivative).epsilon(1e-6));
  // wrong by a thousandth only
  auto const nearly = check_gradient([](auto const& z) { return sum(exp(z)) + 0.001 * sum(untraced(z)); }, std::tie(x), quiet);
  CHECK(!nearly.passed);
  auto const untied = check_gradient([](auto const& z) { return sum(exp(untraced(z))); }, std::tie(x), quiet);
  CHECK((!untied.passed && untied.derivative == 0));
  CHECK_THAT(untied.message, ContainsSubstring("x.value()"));
}

TEST_CASE("complex, sparse and plain arguments, moved together; through a solve") {
  using complex_t = std::complex<double>;
  auto const A = problems::poisson<double>({6, 5});
  auto const b = random<double>(A.rows(), 1);
  auto const z = random<complex_t>(A.rows(), 2);
  auto const f = [](auto const& B, auto const& c, auto const& v, auto const& s) {
    auto const x = solve(B, c * s, cg{.rtol = 1e-12}, jacobi{});  // B stays symmetric
    return squared_norm(v * x) + real(dot(v, v)) / norm(x);
  };
  std::ostringstream table;
  auto const c = check_gradient(f, std::tuple(A, b, z, 0.7), {.step = 0.01, .out = &table});
  CHECK(c.passed);
  CHECK(c.slope == Approx(2).margin(0.1));
  CHECK_THAT(table.str(), ContainsSubstring("remainder") && ContainsSubstring("right: the remainder falls with h^2"));
}

TEST_CASE("directions may be given") {
  auto const A = problems::convection_diffusion<double>({4, 3}, {3.0, 1.0});
  auto const x = random<double>(A.cols(), 1), d = random<double>(A.cols(), 2);
  auto const f = [](auto const& B, auto const& v) { return norm(B * v); };
  CHECK(check_gradient(f, std::tie(A, x), std::tuple(with_values(A, random<double>(A.values().size(), 3)), d - x), quiet).passed);
  CHECK_THROWS_WITH(check_gradient(f, std::tie(A, x), std::tuple(A, random<double>(7, 1)), quiet), ContainsSubstring("the direction of argument 1"));
}

TEST_CASE("what is not differentiable, constant, linear or not finite is said to be") {
  auto const x = random<double>(n, 1);
  auto const zero = zeros<double>(n);
  using enum gradient_outcome;
  auto const outcome = [&](auto const& f, auto const& at) { return check_gradient(f, std::tie(at), quiet).outcome; };
  CHECK(outcome([](auto const& v) { return norm1(v) + sum(exp(v)); }, zero) == not_differentiable);
  CHECK(outcome([](auto const& v) { return sum(v) > 0 ? eval(squared_norm(v) + 1) : eval(squared_norm(v)); }, zero) == not_differentiable);
  CHECK(outcome([](auto const& v) { return sum(v); }, x) == exact);
  CHECK(outcome([](auto const& v) { return 0 * sum(v) + 3; }, x) == constant);
  CHECK(outcome([](auto const&) { return 3.0; }, x) == constant);
  CHECK(outcome([](auto const& v) { return sum(log(v)); }, zero) == not_finite);
  CHECK(check_gradient([](auto const& v) { return sum(v); }, std::tie(x), quiet).passed);
  CHECK(check_gradient([](auto const& v) { return sum(v * v * v); }, std::tie(zero), quiet).passed);  // slope 3
}

TEST_CASE("noise is told from a wrong gradient, steps out of the domain are left out") {
  auto const A = problems::poisson<double>({6, 5});
  auto const b = random<double>(A.rows(), 1);
  auto const loose = [](auto const& B, auto const& c) { return squared_norm(solve(B, c, cg{.rtol = 1e-7}, jacobi{})); };
  auto const c = check_gradient(loose, std::tie(A, b), {.step = 0.02, .out = nullptr});
  CHECK((c.passed || c.outcome == gradient_outcome::lost));
  // at the larger steps the matrix is indefinite, and cg throws
  auto const far = check_gradient(loose, std::tie(A, b), {.step = 3, .halvings = 10, .out = nullptr});
  CHECK(std::isnan(far.steps.front().remainder));
}
