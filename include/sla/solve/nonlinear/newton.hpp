// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Newton's method for F(u) = 0: with sparse Jacobians, by a line search, by a trust region, or in full steps; and without, `newton_krylov`, whose
// linear systems are solved only as exactly as the step needs. The call is in solve/nonlinear/nonlinear_solve.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <sla/solve/nonlinear/nonlinear_method.hpp>

namespace sla {

/// How far Newton's method goes along its step.
enum class step_control {
  full,         ///< all of it, whatever F is there
  line_search,  ///< as far as |F| falls enough, by backtracking
  trust_region  ///< on a dogleg of the steepest descent of |F| and Newton's step, in a ball in which the model holds
};

/// Newton's method: `nonlinear_solve(F, u0, newton{.rtol = 1e-10})`. The Jacobian is exact, by dual numbers in colours of its columns; its pattern is
/// found, or given: `.pattern = P`, a sparse tensor. Linear systems are solved by the automatic choice to `linear_rtol`, or by a method and a preconditioner
/// that stand behind it: `nonlinear_solve(F, u0, newton{}, gmres{}, ilu0{}, parameters...)`; what is set up is renewed, not made anew.
/// Ends when |F(u)| <= max(rtol |F(u0)|, atol), or where an rtol above 0 asks for less than the rounding of u leaves of F, and without a root where eight steps in turn, all cut to a tenth or less, reduce |F| by less than 1 %.
/// Cost: per iteration a Jacobian (`jacobian_plan`), a solve, and a value of F for each length tried.
/// Source: Dennis and Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations (1983), chapters 5 and 6; Powell (1970) for the dogleg.
struct newton {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 50;
  step_control step = step_control::line_search;
  double linear_rtol = 1e-10;  ///< of the automatic choice
  given_pattern pattern = {};

  using nonlinear_method_tag = void;
  static constexpr char const* name = "newton";

  /// Improves u until |F(u)| is small. Solver: a detail::jacobian_solver, or an operator_solver.
  template <class Problem, class Solver, class V>
  void run(Problem const& problem, Solver& solver, V& u) const {
    auto& report = problem.report();
    auto at = problem.first_value(u);
    detail::nonlinear_stop const stop(report, rtol, atol, max_iterations, at.norm);
    double radius = 0;
    while (stop.go_on(problem, u, at.norm)) {
      solver.linearize(problem.function(), u, report);
      auto [d, linear] = solver.solve(problem.scaled(-1, at.r), report);
      if (!detail::is_usable(linear))
        return detail::stop_for(report, linear.reason(), text("the linear solve with the Jacobian of iteration ", report.steps, " failed: ", linear,
                                                             linear.reason() == reason::singular ? "; begin elsewhere, or move the parameters away from a fold" : ""));
      double length = 1;
      if (step == step_control::line_search) {
        length = detail::backtrack(problem, u, at, d);
      } else if (step == step_control::trust_region) {
        if constexpr (requires { solver.times(u); }) length = dogleg(problem, solver, u, at, d, radius);
      } else {
        problem.add(u, 1, d);
        at = problem.value(u);
        if (!std::isfinite(at.norm))
          return detail::stop_for(report, reason::not_a_number, text(problem.words_of(at.r), ", in iteration ", report.steps + 1, "; a line search takes shorter steps"));
      }
      if (length == 0) {
        if (rtol > 0 && stop.is_rounding(report, problem.rounding_at(u))) return;
        return detail::stop_for(report, reason::stagnated, text("no step of iteration ", report.steps + 1, " reduces |F|", detail::remark_of_full_step(problem, u, d),
                                                                "; it is as small as rounding lets it be, or has a minimum here that is not 0: begin elsewhere, or ask for less"));
      }
      ++report.steps, report.step_lengths.push_back(length);
    }
  }

private:
  /// The step of the dogleg within the radius, which follows how well |r + J p| foretold |F|: the length of the step over that of Newton's, or 0.
  template <class Problem, class Solver, class V>
  static double dogleg(Problem const& problem, Solver const& solver, V& u, detail::residual_at<V>& at, V const& d, double& radius) {
    using T = typename V::value_type;
    using R = real_t<T>;
    V const g = solver.times_adjoint(at.r);
    double const norm_g = problem.norm(g), newton_length = problem.norm(d), ratio_g = norm_g / problem.norm(solver.times(g));
    double const cauchy = ratio_g * ratio_g, cauchy_length = cauchy * norm_g;
    if (radius == 0) radius = newton_length;
    for (int tries = 0; tries < 60; ++tries) {
      V p = d;
      double const allowed = (std::min)(radius, newton_length);
      if (newton_length > radius) {
        if (cauchy_length >= radius) {
          p = problem.scaled(T(R(-radius / norm_g)), g);
        } else {  // between the ends of steepest descent, c, and of Newton's step: |c + t (d - c)| = radius
          V const c = problem.scaled(T(R(-cauchy)), g), along = problem.sum(d, -1, c);
          double const length = problem.norm(along), aa = length * length, ca = double(real_of(to_kernel(problem.inner(c, along)))), cc = cauchy_length * cauchy_length;
          double const t = (std::sqrt(ca * ca + aa * (radius * radius - cc)) - ca) / aa;
          p = problem.sum(c, T(R(t)), along);
        }
      }
      double const left = problem.norm(problem.sum(at.r, 1, solver.times(p)));
      V next = problem.sum(u, 1, p);
      auto value = problem.value(next);
      auto const fallen_to = [&](double size) { return (at.norm - size) * (at.norm + size); };
      double const fallen = fallen_to(value.norm), ratio = fallen / fallen_to(left);
      if (ratio >= 1e-4 && std::isfinite(fallen)) {
        u = std::move(next), at = std::move(value);
        if (allowed == newton_length) problem.report().beyond.clear();
        if (ratio > 0.75) radius = (std::max)(radius, 2 * allowed);
        if (ratio < 0.25) radius = allowed / 2;
        return allowed / newton_length;
      }
      if (!std::isfinite(fallen)) problem.report().beyond = problem.words_of(value.r);
      radius = allowed / (std::isfinite(fallen) ? 4 : 8);
      if (!(radius > 1e-15 * newton_length)) break;
    }
    return 0;
  }
};

/// Newton's method with GMRES and no Jacobian: J v is a directional derivative of F, exact by dual numbers. Each system is solved to a tolerance that follows how fast |F|
/// falls (Eisenstat and Walker's second choice, gamma 0.9, power 2), and the step is a line search. `.precondition = ilu0{}` is made of a Jacobian at u0, whose pattern is found or given;
/// a linear_operator, or a preconditioner that is set up, needs none. Ends as newton, and where a linear solve reduces nothing of |F|: there
/// the Jacobian is singular, or GMRES wants a larger `restart`, more `linear_iterations`, or a preconditioner.
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
    for (double forcing : {first_forcing, most_forcing})
      if (!(forcing >= 0 && forcing < 1)) throw value_error(text(name, "{.first_forcing = ", first_forcing, ", .most_forcing = ", most_forcing, "}: a linear solve leaves a part of its right-hand side, at least 0 and less than 1"));
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
      if (!linear.converged() && linear.residual() > 0.999) {
        bool const restarted = linear.iterations() >= restart, cut = linear.reason() == reason::iteration_limit;  // else its one cycle had all vectors there are, and none reduces it
        std::string const advice = restarted ? text(", or GMRES wants a .restart above ", restart, " or a .precondition") : cut ? text(", or GMRES wants .linear_iterations above ", linear_iterations, " or a .precondition") : "";
        return detail::stop_for(report, restarted || cut ? reason::stagnated : reason::singular, text("the linear solve of iteration ", report.steps, " reduces nothing of |F|: the Jacobian is singular at this u, and F outside of its range", advice, ": ", linear, "; begin elsewhere, or move the parameters away from a fold"));
      }
      double const before = at.norm, length = detail::backtrack(problem, u, at, d, -2 * (1 - (std::min)(forcing, most_forcing)));
      if (length == 0) {
        if (rtol > 0 && stop.is_rounding(report, problem.rounding_at(u))) return;
        return detail::stop_for(report, reason::stagnated, text("no step of iteration ", report.steps + 1, " reduces |F|", detail::remark_of_full_step(problem, u, d), "; it is as small as rounding lets it be, the linear solves need a .precondition, or |F| has a minimum here that is not 0"));
      }
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
