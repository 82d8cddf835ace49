// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Newton's method without Jacobians: J v by dual numbers, J^H w by a tape, linear systems by GMRES only as exactly as the step needs.
// With sparse Jacobians: solve/nonlinear/newton.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <sla/solve/nonlinear/nonlinear_method.hpp>

namespace sla {

/// Newton's method with GMRES and no Jacobian: J v is a directional derivative of F, exact by dual numbers. Each system is solved to a tolerance that follows how fast |F|
/// falls (Eisenstat and Walker's second choice, gamma 0.9, power 2), and the step is a line search. `.precondition = ilu0{}` is made of a Jacobian at u0, whose pattern is found or given;
/// a linear_operator, or a preconditioner that is set up, needs none. Ends when |F(u)| <= max(rtol |F(u0)|, atol).
/// Cost: per iteration of GMRES one directional derivative; memory as of gmres. Gradient: by GMRES with the adjoint of F, a sweep of a tape per iteration.
/// Source: Eisenstat and Walker, Choosing the forcing terms in an inexact Newton method (1996); Knoll and Keyes, Jacobian-free Newton-Krylov methods (2004).
struct newton_krylov {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 50;
  int restart = 30;
  int linear_iterations = 1000;  ///< the most in one system
  double first_forcing = 0.5, most_forcing = 0.9;
  jacobian_preconditioner precondition = {};
  given_pattern pattern = {};

  using nonlinear_method_tag = void;
  static constexpr char const* name = "newton_krylov";

  /// Improves u until |F(u)| is small. Solver: a detail::operator_solver.
  template <class Problem, class Solver, class V>
  void run(Problem const& problem, Solver& solver, V& u) const {
    auto& report = problem.report();
    auto at = problem.first_value(u);
    detail::nonlinear_stop const stop(report, rtol, atol, max_iterations, at.norm);
    auto const M = detail::preconditioner_at(*this, problem.function(), u, report);
    double forcing = first_forcing;
    while (stop.go_on(problem, u, at.norm)) {
      solver.linearize(problem.function(), u, report);
      solver.use(gmres{.restart = restart, .rtol = forcing, .max_iterations = linear_iterations}, M);
      auto const [d, linear] = solver.solve(problem.scaled(-1, at.r), report);
      if (M) report.linear = text("gmres + ", precondition.name());
      if (!linear.converged() && linear.reason() != reason::iteration_limit && linear.reason() != reason::stagnated)
        return detail::stop_for(report, linear.reason(), text("the linear solve of iteration ", report.steps, " failed: ", linear));
      double const before = at.norm, length = detail::backtrack(problem, u, at, d, -2 * (1 - (std::min)(forcing, most_forcing)));
      if (length == 0)
        return detail::stop_for(report, reason::stagnated, text("no step of iteration ", report.steps + 1, " reduces |F|", detail::remark_of_full_step(problem, u, d), "; it is as small as rounding lets it be, the linear solves need a .precondition, or |F| has a minimum here that is not 0"));
      ++report.steps, report.step_lengths.push_back(length);
      double const ratio = at.norm / before, safe = 0.9 * forcing * forcing;
      forcing = 0.9 * ratio * ratio;
      if (safe > 0.1) forcing = (std::max)(forcing, safe);
      forcing = (std::max)((std::min)(forcing, most_forcing), 0.5 * stop.tolerance / (std::max)(at.norm, stop.tolerance));
    }
  }
  /// The method of a derivative's linear solves.
  gmres linear_method(double linear_rtol) const { return {.restart = restart, .rtol = linear_rtol, .max_iterations = linear_iterations}; }
};

} // namespace sla
