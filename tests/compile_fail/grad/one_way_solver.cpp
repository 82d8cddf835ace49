// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What linearize gives solves in both directions: one for each mode.
// expect-error: sla: implicit\(forward, residual, linearize, params...\): linearize\(x..., params...\) gives what solves with dR/dx: it has solve\(r\) and solve_adjoint\(g\)
#include <cmath>

#include <sla/grad/call/gradient.hpp>
#include <sla/grad/tape/implicit.hpp>

struct slope {
  double of;
  double solve(double r) const { return r / of; }
#ifdef FIXED
  double solve_adjoint(double g) const { return g / of; }
#endif
};

double derivative_of_root(double at) {
  auto const root = [](auto const& p) {
    return sla::implicit([](double a) { return std::sqrt(a); }, [](double x, auto const& a) { return x * x - a; }, [](double x, double) { return slope{2 * x}; }, p);
  };
  auto const [value, g] = sla::value_and_gradient(root, at);
  return g;
}
