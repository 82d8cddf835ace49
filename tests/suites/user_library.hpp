// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's library, which knows of tensors and solvers only. It must work on traced and distributed values, included before
// or after their headers.
#pragma once

#include <sla/solve.hpp>

namespace user {

/// The state of a linear model with a nonlinear load: A x = b * exp(-b).
template <class A, class B>
auto equilibrium(A const& a, B const& b) {
  auto const load = sla::eval(b * sla::exp(-b));
  return sla::solve(a, load, sla::cg{.rtol = 1e-11}, sla::jacobi{});
}

template <class A, class B, class T>
auto misfit(A const& a, B const& b, T const& target) {
  auto const s = sla::prepare(a, sla::cg{.rtol = 1e-11}, sla::jacobi{});
  auto const x = equilibrium(a, b);
  auto const y = s.solve(sla::eval(sla::transpose(a) * x - 0.5 * (a * b)));
  auto const [z, report] = sla::try_solve(a, y, sla::cg{.rtol = 1e-11}, sla::jacobi{});
  auto const scaled = sla::eval(sla::with_values(a, 2.0 * sla::values(a)) * sla::pow(x, 2));
  double const weight = report.converged() ? 0.5 : 0.0;
  return weight * sla::squared_norm(x - target) + sla::dot(x, y) / double(x.size()) + sla::norm(z) + sla::sum(sla::conj(y)) +
         0.1 * sla::norm1(scaled) + sla::norm_inf(b);
}

}  // namespace user
