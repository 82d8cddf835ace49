// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Helmholtz equation with damping, -u'' - k(x)^2 (1 + i eta) u = f: a complex solve, and the gradient of the energy at the right end
// in the medium m = k^2, against the adjoint formula worked out by hand.
#include <cmath>
#include <complex>

#include <sla/grad.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  using complex = std::complex<double>;
  constexpr index_t n = 200;
  double const h = 1.0 / (n + 1);
  complex const damping(1.0, 0.05);

  auto const L = cast<complex>((1.0 / (h * h)) * problems::poisson<double>({n}));
  triplets<complex> identity(n, n);
  for (index_t i = 0; i < n; ++i) identity.add(i, i, 1.0);
  auto const I = identity.build();
  vector<complex> source = zeros<complex>({n});
  source(0) = 1.0 / h;
  vector<double> window = zeros<double>({n});  // the receivers: the last tenth
  for (index_t i = n - n / 10; i < n; ++i) window(i) = 1.0;

  auto wave = [&](auto const& m) { return solve(L - scale_rows(I, damping * m), source, lu{}); };
  auto energy = [&](auto const& m) { return 0.5 * h * sum(window * abs2(wave(m))); };

  vector<double> m = 400.0 * ones<double>(n);
  for (index_t i = n / 3; i < n / 2; ++i) m(i) = 600.0;
  auto const [value, gradient] = value_and_gradient(energy, m);
  std::cout << "energy at the receivers " << value << '\n';

  // By hand: A(m) u = f gives du = A^-1 diag(damping u) dm, and dE = Re(h window conj(u) du) = Re(w^T diag(damping u) dm), where
  // A^T w = h window conj(u).
  auto const u = wave(m);
  auto const A = L - scale_rows(I, damping * m);
  auto const w = lu(A).solve_transpose(vector<complex>(h * window * conj(u)));
  vector<double> const by_hand = real(damping * w * u);

  checks check;
  check.at_most("gradient against the adjoint by hand, relative", norm(gradient - by_hand) / norm(by_hand), 1e-12);
  check.at_most("value against the plain function, relative", std::abs(value - energy(m)) / value, 1e-14);
  return check.exit_status();
}
