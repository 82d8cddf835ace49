// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where was the heat, and how well does the rod conduct? u_t = k u_xx on (0, 1), cold at both ends, is measured at three times: k and the amplitudes of three modes at
// t = 0 are found by steepest descent with Barzilai and Borwein's steps, on gradients of 60 steps in time each, of which four states are stored.
#include <cmath>
#include <numbers>

#include <sla/integrate.hpp>

#include "check.hpp"

int main() {
  using std::numbers::pi;
  constexpr sla::index_t n = 39, modes = 3;
  double const h = 1.0 / (n + 1), true_k = 0.5;
  sla::vector<double> const true_amplitudes{1.0, -0.5, 0.25};
  std::vector<double> const times = {0.0, 0.02, 0.05, 0.1};

  auto const L = sla::problems::poisson<double>({n});
  sla::triplets<double> sines(n, modes);
  for (sla::index_t i = 0; i < n; ++i)
    for (sla::index_t m = 0; m < modes; ++m) sines.add(i, m, std::sin(pi * double(m + 1) * h * double(i + 1)));
  auto const S = sines.build();

  // The measurements are of the closed form: each mode decays by itself. At t = 0 nothing is measured.
  sla::tensor<double, sla::Extents<sla::dyn, sla::dyn>> data(n, 4), measured(n, 4);
  for (sla::index_t t = 1; t < 4; ++t)
    for (sla::index_t i = 0; i < n; ++i) {
      measured(i, t) = 1;
      for (sla::index_t m = 0; m < modes; ++m)
        data(i, t) += true_amplitudes[m] * std::exp(-true_k * 4 / (h * h) * std::pow(std::sin(pi * double(m + 1) * h / 2), 2) * times[std::size_t(t)]) * std::sin(pi * double(m + 1) * h * double(i + 1));
    }

  auto const heat = [&](auto const& u, double, auto const& k) { return (-k / (h * h)) * (L * u); };
  sla::integration_report report;
  auto const misfit = [&](auto const& amplitudes, auto const& log_k) {
    auto const run = sla::integrate(heat, S * amplitudes, times, sla::theta{.implicitness = 0.5, .steps = 20, .checkpoints = 4}, exp(log_k));
    report = run.report;
    return h * squared_norm(measured * (run.states - data));
  };

  sla::vector<double> a(modes), last_a, last_ga;
  double log_k = 0, last_log_k = 0, last_gk = 0, value = 0, size = 1;
  int iterations = 0;
  for (; iterations < 200 && size > 1e-9; ++iterations) {
    auto const [now, ga, gk] = sla::value_and_gradient(misfit, a, log_k);
    value = now, size = std::sqrt(double(sla::squared_norm(ga)) + gk * gk);
    double step = 0.5;
    if (iterations > 0) {
      double const dk = log_k - last_log_k, along = double(sla::dot(a - last_a, ga - last_ga)) + dk * (gk - last_gk);
      step = (double(sla::squared_norm(a - last_a)) + dk * dk) / std::abs(along);
    }
    last_a = a, last_ga = ga, last_log_k = log_k, last_gk = gk;
    a = a - step * ga, log_k -= step * gk;
  }
  std::cout << report << "\nmisfit " << value << " after " << iterations << " gradients, k = " << std::exp(log_k) << '\n';

  checks check;
  check.at_most("amplitudes, largest distance to the true ones", sla::norm_inf(a - true_amplitudes), 2e-3);
  check.at_most("conductivity, distance to the true one, relative", std::abs(std::exp(log_k) / true_k - 1), 2e-3);
  check.at_most("gradient at the end", size, 1e-9);
  check.at_most("states that are stored", double(report.checkpoints), 4);
  check.at_most("the gradient against differences, distance of the slope to 2", std::abs(sla::check_gradient(misfit, std::tie(a, log_k), {.out = nullptr}).slope - 2), 0.05);
  return check.exit_status();
}
