// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pseudo-transient continuation for F(u) = 0: implicit steps of u' = -F(u), whose length grows as |F| falls, until they are Newton's.
// The call is in solve/nonlinear/nonlinear_solve.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <sla/solve/nonlinear/nonlinear_method.hpp>

namespace sla {

/// Pseudo-transient continuation: `nonlinear_solve(F, u0, pseudo_transient{.dt0 = 0.1})` makes steps (I / dt + J) d = -F(u) of u' = -F(u), and dt follows |F|
/// (switched evolution relaxation: dt |F(u before)| / |F(u)|), from dt0 to `most_dt`. It finds a steady state that is stable where Newton's method with a line search ends in a
/// minimum of |F|. Where F is no number, or the linear solve fails, a quarter of dt is tried, down to `least_dt`. Jacobians and linear solves are as of newton.
/// Law: solutions are stable states of u' = -F(u); of those of u' = F(u) give -F. Ends when |F(u)| <= max(rtol |F(u0)|, atol). Cost: per iteration as newton.
/// Errors: value_error where dt0 is not from least_dt to most_dt. Source: Kelley and Keyes, Convergence analysis of pseudo-transient continuation (1998).
struct pseudo_transient {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 500;
  double dt0 = 1;
  double least_dt = 1e-12, most_dt = 1e30;
  double linear_rtol = 1e-10;  ///< of the automatic choice
  given_pattern pattern = {};

  using nonlinear_method_tag = void;
  static constexpr char const* name = "pseudo_transient";

  /// Improves u until |F(u)| is small. Solver: a detail::jacobian_solver, or an operator_solver.
  template <class Problem, class Solver, class V>
  void run(Problem const& problem, Solver& solver, V& u) const {
    using R = real_t<typename V::value_type>;
    if (!(least_dt > 0 && least_dt <= dt0 && dt0 <= most_dt && std::isfinite(most_dt)))
      throw value_error(text("pseudo_transient{.dt0 = ", dt0, ", .least_dt = ", least_dt, ", .most_dt = ", most_dt, "}: steps in time are positive and finite, and .dt0 is from .least_dt to .most_dt"));
    auto& report = problem.report();
    report.in_time = true;
    solver.with_diagonal();
    auto at = problem.first_value(u);
    double dt = dt0;
    detail::nonlinear_stop const stop(report, rtol, atol, max_iterations, at.norm);
    while (stop.go_on(problem, u, at.norm)) {
      solver.look(problem.function(), u, report);
      double const before = at.norm;
      std::string failed = text("|F| grew to ", before);
      sla::reason why = reason::stagnated;
      for (;; dt /= 4) {
        if (!(dt >= least_dt)) return detail::stop_for(report, why, text("the step in time of iteration ", report.steps + 1, " fell to ", dt, ", below {.least_dt = ", least_dt, "}: ", failed));
        solver.set_up_shifted(R(1 / dt));
        auto [d, linear] = solver.solve(problem.scaled(-1, at.r), report);
        if (detail::is_usable(linear)) {
          V next = problem.sum(u, 1, d);
          auto value = problem.value(next);
          if (std::isfinite(value.norm)) {
            u = std::move(next), at = std::move(value);
            break;
          }
          failed = problem.words_of(value.r), why = reason::not_a_number;
        } else {
          failed = text("the linear solve failed: ", linear), why = linear.reason();
        }
      }
      ++report.steps, report.step_lengths.push_back(dt);
      dt = (std::min)(dt * (before / at.norm), most_dt);
    }
  }
};

} // namespace sla
