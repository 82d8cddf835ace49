// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heat equation u_t = laplace(u) on the unit square, u = 0 on its boundary, by implicit Euler steps: one matrix, prepared once,
// and a solve per step. The lowest mode of the grid decays by a known factor in each step.
#include <cmath>
#include <numbers>

#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using std::numbers::pi;
  constexpr sla::index_t n = 60;  // interior points along each axis
  constexpr int steps = 20;
  double const h = 1.0 / (n + 1), dt = 1e-3;

  // (I + dt / h^2 L) u_new = u_old, where L has 4 on its diagonal and -1 for each neighbour.
  auto const L = sla::problems::poisson<double>({n, n});
  sla::triplets<double> identity(L.rows(), L.cols());
  for (sla::index_t i = 0; i < L.rows(); ++i) identity.add(i, i, 1.0);
  auto const A = identity.build() + (dt / (h * h)) * L;
  auto const step = sla::prepare(A, sla::cg{.rtol = 1e-12}, sla::ic0{});

  auto u = sla::zeros<double>({n * n});
  for (sla::index_t y = 0; y < n; ++y)
    for (sla::index_t x = 0; x < n; ++x) u(x + n * y) = std::sin(pi * h * double(x + 1)) * std::sin(pi * h * double(y + 1));
  sla::vector<double> const start = u;

  int iterations = 0;
  for (int k = 0; k < steps; ++k) {
    auto [next, report] = step.try_solve(u, sla::initial_guess(u));  // the last step is a good guess
    if (!report.converged()) throw sla::solve_error(report);
    iterations += report.iterations();
    u = next;
  }
  std::cout << steps << " steps of " << A.rows() << " unknowns, " << iterations << " iterations in all\n";

  double const eigenvalue = 8.0 * std::pow(std::sin(0.5 * pi * h), 2) / (h * h);  // of L / h^2
  double const factor = std::pow(1.0 + dt * eigenvalue, -steps);
  checks check;
  check.at_most("distance to the decayed mode, relative", sla::norm(u - factor * start) / sla::norm(u), 1e-9);
  check.at_most("distance to the mode of the plate itself", std::abs(factor - std::exp(-2 * pi * pi * dt * steps)), 5e-3);
  return check.exit_status();
}
