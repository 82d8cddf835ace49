// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with Hessians through what equations define: determinants, least squares, eigenpairs and singular triplets, nonlinear systems with bounds
// and without, and steps in time. By symmetry and by Taylor remainders of rate 2.0 +- 0.05, and against closed forms.
#include <sla/determinant.hpp>
#include <sla/eigenvalues.hpp>
#include <sla/integrate.hpp>
#include <sla/least_squares.hpp>
#include <sla/nonlinear.hpp>

#include "catch.hpp"
#include "suites/hessian.hpp"

namespace test_hvp_equations {

using namespace sla;
using gradient::check_hessian;

auto const stiffness = eval(problems::poisson<double>({4, 3}) + 0.1 * eye<double>(12));
auto const start = random<double>(12, 1), along = random<double>(12, 2);

TEST_CASE("Hessians of determinants: against -tr(A^-1 U A^-1 V), of factors, and of batches") {
  auto const dA = with_values(stiffness, random<double>(stiffness.values().size(), 5));
  auto const U = with_values(stiffness, random<double>(stiffness.values().size(), 6));
  auto const H = hvp([](auto const& A) { return logdet(A, lu{}); }, stiffness, dA);
  auto const s = lu(stiffness);
  double exact = 0;
  for (index_t j = 0; j < 12; ++j) {
    vector<double> e(12);
    e[j] = 1;
    exact -= vector<double>(s.solve(U * s.solve(dA * e)))[j];
  }
  CHECK(gradient::pairing(U, H) == Approx(exact).epsilon(1e-11));
  check_hessian(
      [](auto const& k) {
        auto const A = stiffness + diagonal(exp(k));
        auto const f = ldlt(A);
        auto const y = logdet(A);
        return 0.1 * y * y + logdet(f) * dot(start, f.solve(start));
      },
      std::tie(along));
  auto const batch = to_batch<2>(problems::convection_diffusion<double>({3, 3}, {3.0, -1.0}));
  check_hessian([](auto const& A) { auto const y = slogdet(A).log_abs; return sum(y * y * det(0.2 * A)); }, std::tie(batch));
  // with probes it is the derivative of the gradient that they give
  auto const estimated = [](auto const& k) { return logdet(stiffness + diagonal(k), stochastic_lanczos{.probes = 8, .rtol = 1e-13}).value; };
  vector<double> const shift = 0.5 + along * along;
  auto const Hv = hvp(estimated, shift, start);
  double const h = 1e-4;
  auto const [plus, g_plus] = value_and_gradient(estimated, shift + h * start);
  auto const [minus, g_minus] = value_and_gradient(estimated, shift - h * start);
  CHECK(norm((g_plus - g_minus) / (2 * h) - Hv) <= 1e-6 * norm(Hv));
}

TEST_CASE("Hessians of least squares, of A, b and the damping") {
  auto const tall = eval(cat_rows(stiffness, problems::convection_diffusion<double>({4, 3}, {1.0, 2.0})));
  auto const b = random<double>(24, 1);
  check_hessian([](auto const& A, auto const& c) { auto const x = least_squares(A, c * c, lsmr{.rtol = 1e-14}); return sum(x * x * x); }, std::tie(tall, b));
  double const d = 0.4;
  check_hessian([&](auto const& A, auto const& s) { auto const x = least_squares(A, b, dense_qr{}, damping(s)); return sum(x * x * x) + s * norm(x); }, std::tie(tall, d));
  auto const wide = eval(transposed(tall));
  CHECK_THROWS_WITH(hvp([&](auto const& c) { return squared_norm(least_squares(wide, c, dense_qr{})); }, start, along), Catch::Matchers::ContainsSubstring("give a damping"));
}

TEST_CASE("Hessians of eigenvalues and eigenvectors, of A and B, and of singular triplets") {
  auto const A = eval(stiffness + diagonal(start));
  lobpcg const tight{.rtol = 1e-13};
  check_hessian(
      [&](auto const& k, auto const& l) {
        auto const pairs = eigsh(A + diagonal(k * k), 2.0 * eye<double>(12) + diagonal(l * l), 3, smallest{}, tight);
        auto const w = pairs.values;
        auto const V = pairs.vectors;
        return w[0] * exp(w[2]) + w[1] * sum(V * V * V) + V(3, 1) * V(5, 0);
      },
      std::tie(along, start), {.symmetry = 1e-7});
  // of a 2 x 2 matrix (a, c; c, 0) the larger value is (a + sqrt(a^2 + 4 c^2)) / 2
  auto const two = from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 0.0, 0.0, 0.0});
  auto const C = from_triplets<double>(2, 2, {0, 1}, {1, 0}, {1.0, 1.0});
  double const c = 0.75, exact = 4 / std::pow(1 + 4 * c * c, 1.5) / 2;
  CHECK(2 * hvp([&](auto const& s) { return eigsh(two + s * C, 1, largest{}).values[0]; }, c, 1.0) == Approx(2 * exact).epsilon(1e-9));
  // of all pairs there is nothing beside them to solve for
  CHECK(2 * hvp([&](auto const& s) { return eigsh(two + s * C, 2, largest{}).values[0]; }, c, 1.0) == Approx(2 * exact).epsilon(1e-9));
  auto const tall = eval(cat_rows(A, problems::convection_diffusion<double>({4, 3}, {1.0, 2.0})));
  check_hessian(
      [](auto const& m) {
        auto const t = svds(m, 2, largest{}, golub_kahan{.rtol = 1e-13});
        auto const U = t.left, V = t.right;
        return t.values[0] * t.values[1] + sum(U * U * U) + V(3, 1) * V(5, 0);
      },
      std::tie(tall), {.symmetry = 1e-7});
}

TEST_CASE("Hessians of values and of vectors of both sides of matrices that are not symmetric, of A and B: two of a complex pair and a real one") {
  auto const A = eval(problems::convection_diffusion<double>({4, 3}, {1.0, -2.0}) + diagonal(start) + from_triplets<double>(12, 12, {0, 1, 3, 5, 7, 2}, {1, 0, 5, 3, 2, 7}, {3.0, -3.0, 2.0, -2.0, 1.0, -1.0}));
  auto const right = random<std::complex<double>, Extents<dyn, dyn>>({12, 3}, 5);
  check_hessian(
      [&](auto const& k, auto const& l) {
        auto const t = eigs(A + diagonal(k * k), eye<double>(12) + 0.1 * diagonal(l * l), 3, near{5.5}, dense_schur{}, left_vectors);
        auto const w = t.values;
        return squared_norm(t.vectors - right) + 0.3 * squared_norm(t.left - right) + sum(abs(w)) + sum(real(w) * imag(w) * imag(w));
      },
      std::tie(along, start), {.symmetry = 1e-7});
  auto const twice = from_triplets<double>(2, 2, {0, 1}, {0, 1}, {2.0, 2.0});
  CHECK_THROWS_WITH(hvp([&](auto const& s) { return sum(real(eigs(s * twice, 2, largest{}).values)); }, 1.0, 1.0), Catch::Matchers::ContainsSubstring("whose values are one multiple value"));
}

TEST_CASE("Hessians of nonlinear systems, of those with bounds, and of steps in time") {
  auto const bratu = [](auto const& u, auto const& lambda, auto const& k) { return stiffness * u - lambda * exp(u) * k; };
  vector<double> const k = 1.0 + 0.1 * start;
  double const lambda = 0.1;
  check_hessian([&](auto const& l, auto const& s) { auto const u = nonlinear_solve(bratu, 0.0 * s, newton{.rtol = 1e-13}, l, s).x; return sum(u * u * u) + squared_norm(u); }, std::tie(lambda, k));
  auto const loaded = [](auto const& u, auto const& s) { return stiffness * u + u * u * u - 10.0 * s; };
  check_hessian([&](auto const& s, auto const& l) { auto const u = solve_bounded(loaded, zeros<double>(12), lower{-0.5 * exp(l)}, semismooth_newton{.rtol = 1e-13}, s).x; return sum(u * u * u); },
                std::tie(along, start));
  auto const heat = [](auto const& u, double t, auto const& s) { return eval(t - stiffness * (s * u) - u * u * u); };
  auto const mass_matrix = eval(eye<double>(12) + 0.1 * stiffness);
  check_hessian(
      [&](auto const& u0, auto const& s, auto const& M) {
        auto const r = integrate(heat, u0, {0.0, 0.05, 0.1}, bdf2{.steps = 4, .rtol = 1e-13}, mass(M), s);
        return sum(r.x * r.x * r.x) + r.states(3, 1) * r.states(2, 1);
      },
      std::tie(start, along, mass_matrix));
}

} // namespace test_hvp_equations
