// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of what equations define by complex steps, to 1e-11: Im y(x + i h d) / h of an analytic text for y, here of inverse iterations, normal
// equations, Newton's steps and steps in time by complex factors, which know no derivative.
#include <complex>
#include <utility>

#include <sla/determinant.hpp>
#include <sla/eigenvalues.hpp>
#include <sla/integrate.hpp>
#include <sla/least_squares.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace test_complex_step {

using namespace sla;
using Z = std::complex<double>;
using gradient::pairing;

namespace {
double const step = 1e-20;
/// x + i h d.
template <class X>
auto stepped(X const& x, X const& d) {
  return eval(cast<Z>(x) + Z(0, step) * cast<Z>(d));
}
/// The value of A that is nearest to s, by inverse iteration: analytic in A, for a factor of x leaves the ratio as it is.
Z value_near(sparse_tensor<Z> const& A, double s) {
  auto const factors = lu(eval(A - Z(s) * eye<Z>(A.rows())));
  auto x = cast<Z>(random<double>(A.rows(), 3));
  auto const row = cast<Z>(random<double>(A.rows(), 4));
  Z value = 0;
  for (int n = 0; n < 20; ++n) {
    vector<Z> const y = factors.solve(x);
    value = s + dot(row, x) / dot(row, y);
    x = y / double(norm(y));
  }
  return value;
}
/// Is the gradient of f, a number, along d what y(x + i h d) says? complex_y takes complex arguments.
template <class F, class Y, class... X>
void check_step(F const& f, Y const& complex_y, X const&... x) {
  auto const d = detail::random_directions(std::tie(x...), 5);
  auto const result = value_and_gradient(f, x...);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    Z const y = complex_y(stepped(x, std::get<K>(d))...);
    CHECK(std::get<0>(result) == Approx(y.real()).epsilon(1e-11));
    CHECK((pairing(std::get<K + 1>(result), std::get<K>(d)) + ...) == Approx(y.imag() / step).epsilon(1e-11));
  }(std::index_sequence_for<X...>{});
}
Z sum_of_cubes(vector<Z> const& x) {
  Z total = 0;
  for (Z v : x) total += v * v * v;
  return total;
}
auto const cubes = [](auto const& x) { return sum(x * x * x); };
} // namespace

TEST_CASE("complex steps of eigenvalues, generalised ones too, and of singular values") {
  auto const A = eval(problems::poisson<double>({5, 4}) + diagonal(random<double>(20, 2)));
  auto const exact = eigsh(A, 3, smallest{}, dense_eigen{}).values;
  check_step([](auto const& a) { return eigsh(a, 3, smallest{}, dense_eigen{}).values[1]; }, [&](auto const& a) { return value_near(a, exact[1] + 1e-3); }, A);
  check_step([](auto const& a) { return eigsh(a, 3, smallest{}, lobpcg{.rtol = 1e-12}, jacobi{}).values[0]; }, [&](auto const& a) { return value_near(a, exact[0] + 1e-3); }, A);
  auto const m = eval(2.0 + random<double>(20, 3));
  auto const of_m = eigsh(A, diagonal(m), 2, smallest{}, dense_eigen{}).values;
  check_step([](auto const& a, auto const& b) { return eigsh(a, diagonal(b), 2, smallest{}, dense_eigen{}).values[1]; },
             [&](auto const& a, auto const& b) { return value_near(scale_rows(a, 1.0 / b), of_m[1] + 1e-3); }, A, m);
  auto const C = problems::convection_diffusion<double>({5, 4}, {2.0, -1.0});
  auto const s = svds(C, 2).values;
  check_step([](auto const& a) { return svds(a, 2).values[0]; }, [&](auto const& a) { return std::sqrt(value_near(eval(transpose(a) * a), s[0] * s[0] + 1e-3)); }, C);
  auto const w = eigs(C, 2, largest_magnitude{}).values;
  REQUIRE(w[0].imag() == 0);
  check_step([](auto const& a) { return sum(real(eigs(a, 1, largest_magnitude{}).values)); }, [&](auto const& a) { return value_near(a, w[0].real() + 1e-3); }, C);
}

TEST_CASE("complex steps of least squares with damping, of nonlinear systems and of steps in time") {
  auto const A = cat_rows(problems::poisson<double>({5, 4}), problems::convection_diffusion<double>({5, 4}, {1.0, 2.0}));
  auto const b = random<double>(40, 1), c = random<double>(20, 2);
  check_step([](auto const& a, auto const& r) { return cubes(least_squares(a, r, dense_qr{}, damping(0.3))); },
             [](auto const& a, auto const& r) { return sum_of_cubes(lu(eval(transpose(a) * a + Z(0.09) * eye<Z>(20))).solve(eval(transpose(a) * r))); }, A, b);

  auto const K = problems::convection_diffusion<double>({5, 4}, {6.0, -3.0});
  auto const reaction = [](auto const& u, auto const& a, auto const& load) { return a * u + 0.5 * (u * u * u) - load; };
  check_step([&](auto const& a, auto const& load) { return cubes(nonlinear_solve(reaction, zeros<double>(20), newton{.rtol = 1e-14}, lu{}, a, load).x); },
             [&](auto const& a, auto const& load) {
               vector<Z> u(20);
               for (int n = 0; n < 12; ++n) u = u - lu(eval(a + diagonal(eval(1.5 * u * u)))).solve(eval(reaction(u, a, load)));
               return sum_of_cubes(u);
             }, K, c);

  double const dt = 0.1;
  check_step([&](auto const& a, auto const& u0) { return cubes(integrate([](auto const& u, double, auto const& k) { return -1.0 * (k * u); }, u0, {0.0, 4 * dt}, theta{.implicitness = 0.5, .steps = 4, .rtol = 1e-15}, lu{}, a).x); },
             [&](auto const& a, auto const& u0) {
               auto const half = lu(eval(eye<Z>(20) + Z(0.5 * dt) * a));
               vector<Z> u = u0;
               for (int n = 0; n < 4; ++n) u = half.solve(eval(u - Z(0.5 * dt) * (a * u)));
               return sum_of_cubes(u);
             }, K, c);
  check_step([&](auto const& a, auto const& u0) { return cubes(integrate([](auto const& u, double, auto const& k) { return -1.0 * (k * u); }, u0, {0.0, 4 * dt}, bdf2{.steps = 4, .rtol = 1e-15}, lu{}, a).x); },
             [&](auto const& a, auto const& u0) {
               auto const euler = lu(eval(eye<Z>(20) + Z(dt) * a)), both = lu(eval(Z(1.5) * eye<Z>(20) + Z(dt) * a));
               vector<Z> before = u0, u = euler.solve(before);
               for (int n = 0; n < 3; ++n) before = std::exchange(u, both.solve(eval(2.0 * u - 0.5 * before)));
               return sum_of_cubes(u);
             }, K, c);
}

TEST_CASE("complex steps of determinants, and of systems with bounds on the elements that are held in the end") {
  auto const C = problems::convection_diffusion<double>({5, 4}, {6.0, -3.0});
  auto const A = problems::poisson<double>({5, 4});
  check_step([](auto const& a) { return det(a); }, [](auto const& a) { return det(a); }, C);
  check_step([](auto const& a) { return slogdet(a).log_abs; }, [](auto const& a) { return std::log(det(a)); }, C);
  check_step([](auto const& a) { return logdet(a, lu{}); }, [](auto const& a) { return std::log(det(a)); }, A);

  auto const load = eval(0.4 + random<double>(20, 2)), low = eval(0.2 + 0.1 * random<double>(20, 3));
  auto const contact = [](auto const& u, auto const& a, auto const& f) { return a * u + 0.5 * (u * u * u) - f; };
  auto const solved = [&](auto const& a, auto const& f, auto const& l) { return solve_bounded(contact, zeros<double>(20), lower{l}, semismooth_newton{.rtol = 1e-14}, lu{}, a, f).x; };
  auto const x = solved(A, load, low);
  auto free = ones<Z>(20);
  for (index_t n = 0; n < 20; ++n) free[n] = x[n] > low[n];
  double const held = 20 - norm(free) * norm(free);
  REQUIRE((held > 0.5 && held < 19.5));
  check_step([&](auto const& a, auto const& f, auto const& l) { return cubes(solved(a, f, l)); },
             [&](auto const& a, auto const& f, auto const& l) {
               vector<Z> u = cast<Z>(x);
               for (int n = 0; n < 12; ++n) {
                 auto const J = eval(scale_rows(eval(a + diagonal(eval(1.5 * u * u))), free) + diagonal(eval(1.0 - free)));
                 u = u - lu(J).solve(eval(free * contact(u, a, f) + (1.0 - free) * (u - l)));
               }
               return sum_of_cubes(u);
             }, A, load, low);
}

} // namespace test_complex_step
