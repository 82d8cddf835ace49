// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How sure is what an inverse problem found? The most likely conductivity of a bar under measured temperatures with noise, by Newton's method whose
// steps are conjugate gradients on Hessian times vector, and its uncertainty by Laplace's approximation: the covariance is the inverse of the Hessian.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <sla/grad.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  constexpr index_t cells = 24, nodes = cells - 1;  // the ends are kept at 0
  double const h = 1.0 / cells, noise = 2e-4, roughness = 0.5;
  triplets<double> differences(cells, nodes), neighbours(cells - 1, cells);
  for (index_t c = 0; c < cells; ++c) {
    if (c > 0) differences.add(c, c - 1, -1.0), neighbours.add(c - 1, c - 1, -1.0), neighbours.add(c - 1, c, 1.0);
    if (c < nodes) differences.add(c, c, 1.0);
  }
  auto const G = differences.build();
  auto const Gt = transposed(G);
  auto const D = neighbours.build();
  vector<double> const load = h * ones<double>(nodes);
  auto temperatures = [&](auto const& log_k) { return solve(Gt * scale_rows(G, exp(log_k) / h), load, cholesky{}); };
  vector<double> truth = zeros<double>({cells});
  for (index_t c = 0; c < cells; ++c) truth(c) = 0.8 * std::sin(6.0 * double(c) / cells);
  vector<double> const seen = temperatures(truth) + noise * random<double>(nodes, 5);

  // Minus the logarithm of the posterior: a misfit in units of the noise, and a prior for which neighbouring cells are alike, and moderate.
  auto unlikely = [&](auto const& log_k) {
    return 0.5 / (noise * noise) * squared_norm(temperatures(log_k) - seen) + 0.5 / (roughness * roughness) * (squared_norm(D * log_k) + 0.1 * squared_norm(log_k));
  };
  /// The Hessian at log_k as an operator: each product is one hvp, with one factorisation and four solves.
  int products = 0;
  auto hessian_at = [&](vector<double> const& log_k) {
    return linear_operator<double>(
        cells, cells,
        [&](std::span<double const> v, std::span<double> y) {
          vector<double> const Hv = hvp(unlikely, log_k, borrow(v.data(), cells));
          std::ranges::copy(Hv, y.begin());
          ++products;
        },
        self_adjoint);
  };

  vector<double> m = zeros<double>({cells});
  auto [value, g] = value_and_gradient(unlikely, m);
  double const at_start = norm(g);
  int steps = 0;
  while (norm(g) > 1e-9 * at_start && steps < 50) {
    // as sharp as is worth it (Eisenstat and Walker); where the curvature is negative, cg stops with what it has, which leads down
    auto const s = try_solve(hessian_at(m), -g, cg{.rtol = std::min(0.1, std::sqrt(norm(g) / at_start)), .max_iterations = 100}).x;
    vector<double> step = dot(s, g) < 0 ? s : vector<double>(-g / norm(g));
    auto next = value_and_gradient(unlikely, vector<double>(m + step));
    while (!(std::get<0>(next) <= value + 1e-4 * dot(step, g)) && norm(step) > 1e-12 * norm(m)) {
      step = 0.5 * step;
      next = value_and_gradient(unlikely, vector<double>(m + step));
    }
    m = m + step, value = std::get<0>(next), g = std::get<1>(next);
    std::cout << "step " << ++steps << ": " << value << ", gradient " << norm(g) << ", " << products << " products" << std::endl;
  }

  // Standard deviations: the roots of the diagonal of H^-1, one solve each.
  auto const H = hessian_at(m);
  vector<double> deviation(cells);
  int inside = 0;
  for (index_t c = 0; c < cells; ++c) {
    vector<double> e = zeros<double>({cells});
    e(c) = 1.0;
    deviation(c) = std::sqrt(solve(H, e, cg{.rtol = 1e-10})(c));
    inside += std::abs(m(c) - truth(c)) <= 2 * deviation(c);
  }
  index_t const least_known = std::ranges::max_element(deviation) - deviation.begin();
  std::cout << "log k of cell " << least_known << ", where the temperature is nearly flat, is known to " << deviation(least_known) << ", that of cell 0 to " << deviation(0) << '\n';

  checks check;
  check.at_most("gradient that is left, relative", norm(g) / at_start, 1e-9);
  auto const v = random<double>({cells}, 3), u = random<double>({cells}, 4);
  vector<double> const Hv = H * v;
  double const t = 1e-5;
  auto const [plus, g_plus] = value_and_gradient(unlikely, vector<double>(m + t * v));
  auto const [minus, g_minus] = value_and_gradient(unlikely, vector<double>(m - t * v));
  check.at_most("H v against differences of gradients, relative", norm((g_plus - g_minus) / (2 * t) - Hv) / norm(Hv), 1e-6);
  check.at_most("(u, H v) against (v, H u), relative", std::abs(dot(u, Hv) - dot(v, vector<double>(H * u))) / std::abs(dot(u, Hv)), 1e-10);
  check.at_most("cells whose truth is beyond two standard deviations", double(cells - inside), 2);
  check.at_most("steps of Newton's method", steps, 25);
  return check.exit_status();
}
