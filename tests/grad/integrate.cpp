// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of integrations in time: <w, J d> = <J^H w, d> and Taylor remainders of rate 2, the transposed steps against dense
// algebra, and the same gradient whatever number of states is stored.
#include <sla/integrate.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using gradient::check_dual;

namespace {
index_t const points = 12;
auto const laplace = problems::poisson<double>({points});
vector<double> const first = 1.0 + random<double>(points, 4), source = random<double>(points, 5);
double const conductivity = 0.7;
/// Diffusion with a source that depends on time, and a reaction.
auto const reaction = [](auto const& u, double t, auto const& k, auto const& s) { return -k * (laplace * u) - 0.3 * (u * u * u) + (1.0 + t) * s; };
auto const diffusion = [](auto const& u, double t, auto const& k, auto const& s) { return -k * (laplace * u) + (1.0 + t) * s; };
std::vector<double> const at = {0.0, 0.4, 1.1};
} // namespace

TEST_CASE("integrate has derivatives to u0, numbers and tensors, in both modes, by theta and bdf2") {
  auto const by = [](auto const& f, auto method) {
    method.rtol = 1e-14;
    return [f, method](auto const& u0, auto const& k, auto const& s) {
      auto const run = integrate(f, u0, at, method, k, s);
      return eval((1.0 + 0.1 * squared_norm(run.states)) * run.x);  // both results, all times
    };
  };
  auto const x = std::tie(first, conductivity, source);
  check_dual(by(reaction, theta{.implicitness = 0.5, .steps = 3, .checkpoints = 2}), x, {.accuracy = 1e-9});
  check_dual(by(reaction, bdf2{.steps = 3, .checkpoints = 2}), x, {.accuracy = 1e-9});
}
TEST_CASE("integrate has derivatives to its mass and to a sparse parameter, with linear methods, where u0 is not traced too") {
  auto const M = eval(diagonal(vector<double>(1.0 + random<double>(points, 6))));
  auto const f = [](auto const& u, double, auto const& A) { return -1.0 * (A * u); };
  check_dual([&](auto const& m, auto const& A) { return integrate(f, first, at, theta{.implicitness = 0.6, .steps = 4}, mass(m), lu{}, A).x; }, std::tie(M, laplace), {.accuracy = 1e-9});
  auto const C = cast<std::complex<double>>(laplace);
  auto const z = cast<std::complex<double>>(first);
  std::complex<double> const c(0.2, 1.0);
  check_dual([&](auto const& u0, auto const& a) { return integrate([&](auto const& u, double, auto const& b) { return -b * (C * u); }, u0, at, bdf2{.steps = 3}, lu{}, a).x; }, std::tie(z, c), {.accuracy = 1e-9});
}
TEST_CASE("the gradient of integrate is that of the transposed steps, the same for any number of checkpoints, which its report counts") {
  auto const misfit = [](auto const& f, auto method, integration_report* report = nullptr) {
    return [&f, method, report](auto const& u0, auto const& k) {
      auto const run = integrate(f, u0, {0.0, 1.0}, method, k, source);
      if (report) *report = run.report;
      return squared_norm(run.x - source);
    };
  };
  auto const check = [&](auto const& f, auto method, double tolerance) {
    method.steps = 20, method.rtol = 1e-15, method.checkpoints = 20;
    integration_report all, few;
    auto const [v, g, gk] = value_and_gradient(misfit(f, method, &all), first, conductivity);
    CHECK(all.checkpoints == 20);
    CHECK(all.repeated_steps == 0);
    for (int stored : {0, 1, 2, 7}) {
      method.checkpoints = stored;
      auto const [v2, g2, gk2] = value_and_gradient(misfit(f, method, &few), first, conductivity);
      CHECK(v2 == v);
      CHECK(norm(g2 - g) <= tolerance * norm(g));
      CHECK(std::abs(gk2 - gk) <= tolerance * std::abs(gk));
      CHECK(few.checkpoints == (stored > 0 ? stored : 3));
      CHECK(few.repeated_steps == index_t(checkpointed_steps(20, few.checkpoints)) - 19);
    }
    CHECK(check_gradient(misfit(f, method), std::tie(first, conductivity), {.out = nullptr}).passed);
  };
  check(diffusion, theta{}, 0);  // one Jacobian: to the last bit
  check(diffusion, bdf2{}, 1e-13);
  check(reaction, theta{}, 1e-12);

  auto const step = [&](auto const& b) { return solve(eval(eye<double>(points) + 0.05 * laplace), b, lu{}); };  // of A = I + h / 2 L, which is symmetric
  vector<double> g = source;
  for (int k = 0; k < 10; ++k) g = 2.0 * step(g) - g;  // (2 A^-1 - I)^T
  auto const [x, back] = vjp([](auto const& u0) { return integrate(diffusion, u0, {0.0, 1.0}, theta{.steps = 10}, 1.0, source).x; }, std::tie(first), source);
  CHECK(norm(back - g) <= 1e-12 * norm(g));
}
TEST_CASE("integrate: a step that fails under a tape is an error") {
  auto const bursts = [](auto const& u, double, auto const& a) { return a * (u * u); };
  auto const loss = [&](auto const& a) { return sum(1.0 * integrate(bursts, ones<double>(3), {0.0, 2.0}, theta{.implicitness = 1, .steps = 4}, a).x); };
  CHECK_THROWS_AS(value_and_gradient(loss, 1.0), integration_error);
}
