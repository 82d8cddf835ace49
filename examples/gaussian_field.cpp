// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Gaussian Markov random field (Rue and Held 2005) with the precision matrix tau (kappa I + L), seen at some points with noise: tau and kappa of
// largest likelihood by gradients of two log determinants, and the variance of every point, the diagonal of an inverse, by selected inversion.
#include <cmath>

#include <sla/determinant.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  index_t const n = 40, points = n * n;
  auto const L = problems::poisson<double>({n, n});
  auto const I = eye<double>(points);
  double const noise = 0.1;

  // What is seen: a random field that was smoothed, at every third point, with noise.
  auto const draws = random<double>(points, 1), errors = random<double>(points, 2);
  vector<double> const x = solve(0.5 * I + L, 1.5 * draws) + 0.4 * draws;
  vector<double> seen(points), weight(points);
  for (index_t i = 0; i < points; i += 3) weight[i] = 1 / (noise * noise), seen[i] = weight[i] * (x[i] + noise * errors[i]);
  auto const W = diagonal(weight);

  // Up to a constant, minus the logarithm of the likelihood; the posterior precision Q + W is factored once for its determinant and its mean.
  auto const misfit = [&](auto const& log_tau, auto const& log_kappa) {
    auto const Q = exp(log_tau) * (exp(log_kappa) * I + L);
    auto const F = cholesky(eval(Q + W));
    return 0.5 * logdet(F) - 0.5 * logdet(Q) - 0.5 * dot(seen, F.solve(seen));
  };
  double log_tau = 0, log_kappa = 0, step = 1e-3;
  auto [value, g_tau, g_kappa] = value_and_gradient(misfit, log_tau, log_kappa);
  for (int k = 0; k < 60; ++k) {
    double const next_tau = log_tau - step * g_tau, next_kappa = log_kappa - step * g_kappa;
    auto const [next, h_tau, h_kappa] = value_and_gradient(misfit, next_tau, next_kappa);
    if (next > value) {
      step *= 0.5;
      continue;
    }
    double const dt = next_tau - log_tau, dk = next_kappa - log_kappa, curvature = dt * (h_tau - g_tau) + dk * (h_kappa - g_kappa);
    if (curvature > 0) step = (dt * dt + dk * dk) / curvature;  // Barzilai and Borwein
    log_tau = next_tau, log_kappa = next_kappa, value = next, g_tau = h_tau, g_kappa = h_kappa;
  }
  std::cout << "tau = " << std::exp(log_tau) << ", kappa = " << std::exp(log_kappa) << ", gradient " << g_tau << ", " << g_kappa << '\n';

  auto const F = cholesky(eval(std::exp(log_tau) * (std::exp(log_kappa) * I + L) + W));
  auto const variance = diagonal_of(selected_inverse(F));
  std::cout << "standard deviation of a point that is seen: " << std::sqrt(variance[819]) << ", of its neighbour: " << std::sqrt(variance[820]) << '\n';

  checks check;
  double const h = 1e-5;
  auto const around = [&](double d) { return double(misfit(0.3 + d, -0.2)); };
  check.at_most("derivative against a difference, relative",
                std::abs((around(h) - around(-h)) / (2 * h) / std::get<1>(value_and_gradient(misfit, 0.3, -0.2)) - 1), 1e-6);
  check.at_most("gradient where the likelihood is largest", std::hypot(g_tau, g_kappa), 1e-4);
  double apart = 0;
  for (index_t i : {0, 819, 820, 1599}) {
    vector<double> unit(points);
    unit[i] = 1;
    apart = std::max(apart, std::abs(F.solve(unit)[i] / variance[i] - 1));
  }
  check.at_most("variances against solves, relative", apart, 1e-10);
  return check.exit_status();
}
