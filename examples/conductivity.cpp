// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Identification: the conductivity of a bar, cell by cell, from the temperatures at its nodes. The gradient of the misfit goes through
// the assembly and the solve; the descent is steepest descent with the steps of Barzilai and Borwein (IMA J. Numer. Anal. 8, 1988).
#include <cmath>
#include <vector>

#include <sla/grad.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  constexpr index_t cells = 24, nodes = cells - 1;  // the ends are kept at 0
  double const h = 1.0 / cells;

  // -(k u')' = f: A(k) = G^T diag(k) G / h, where G takes differences of neighbouring nodes. Where u' is 0 nothing is learnt of k, so
  // there are two experiments, heated on the left and on the right.
  triplets<double> differences(cells, nodes);
  for (index_t c = 0; c < cells; ++c) {
    if (c > 0) differences.add(c, c - 1, -1.0);
    if (c < nodes) differences.add(c, c, 1.0);
  }
  auto const G = differences.build();
  auto const Gt = transposed(G);
  vector<double> left = zeros<double>({nodes}), right = zeros<double>({nodes});
  for (index_t i = 0; i < nodes / 3; ++i) left(i) = right(nodes - 1 - i) = h;
  auto temperatures = [&](auto const& log_k, vector<double> const& load) {
    return solve(Gt * scale_rows(G, exp(log_k) / h), load, cholesky{});
  };

  vector<double> truth = zeros<double>({cells});
  for (index_t c = 0; c < cells; ++c) truth(c) = 0.8 * std::sin(6.0 * double(c) / cells);
  vector<double> const seen_left = temperatures(truth, left), seen_right = temperatures(truth, right);

  auto misfit = [&](auto const& log_k) {
    return 0.5e4 * squared_norm(temperatures(log_k, left) - seen_left) + 0.5e4 * squared_norm(temperatures(log_k, right) - seen_right);
  };
  vector<double> log_k = zeros<double>({cells});
  auto [value, gradient] = value_and_gradient(misfit, log_k);
  double const at_start = value;
  double step = 1e-2;
  int iterations = 0;
  while (value > 1e-13 * at_start && iterations < 5000) {
    vector<double> const next = log_k - step * gradient;
    auto const [v, g] = value_and_gradient(misfit, next);
    vector<double> const s = next - log_k, d = g - gradient;
    double const sd = dot(s, d);
    step = sd > 0 ? squared_norm(s) / sd : 1e-2;
    log_k = next, gradient = g, value = v;
    ++iterations;
  }
  std::cout << "misfit " << at_start << " to " << value << " in " << iterations << " steps, four solves each\n";

  // The gradient against central differences of the misfit, along one direction.
  auto const direction = random<double>({cells}, 3);
  vector<double> const at = 0.5 * truth;
  auto const [v, g] = value_and_gradient(misfit, at);
  double const e = 1e-5, slope = (misfit(vector<double>(at + e * direction)) - misfit(vector<double>(at - e * direction))) / (2 * e);
  checks check;
  check.at_most("slope along a direction against differences, relative", std::abs(dot(g, direction) - slope) / std::abs(slope), 1e-6);
  check.at_most("misfit that is left, relative", value / at_start, 1e-10);
  check.at_most("distance to the true conductivity, relative", norm(log_k - truth) / norm(truth), 1e-2);
  return check.exit_status();
}
