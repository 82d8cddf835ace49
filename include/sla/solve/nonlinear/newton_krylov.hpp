// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Newton's method without Jacobians: J v by dual numbers, J^H w by a tape, linear systems by GMRES only as exactly as the step needs.
// With sparse Jacobians: solve/nonlinear/newton.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <sla/grad/call/pullback.hpp>
#include <sla/solve/nonlinear/nonlinear_method.hpp>

namespace sla {

namespace detail {
/// J and J^H at u, by one directional derivative or one sweep of F each. F and u outlive it.
template <class F, class V>
linear_operator<typename V::value_type> jacobian_operator(F const& f, V const& u) {
  using T = typename V::value_type;
  auto const tensor_of = [&u](std::span<T const> x) { return V(u.extents(), buffer<T>::borrow(x.data(), index_t(x.size()))); };
  return {u.size(), u.size(),
          [&f, &u, tensor_of](std::span<T const> x, std::span<T> y) {
            auto const slope = std::get<1>(jvp(f, std::tie(u), std::tuple<V>(tensor_of(x))));
            std::copy(slope.begin(), slope.end(), y.begin());
          },
          [&f, &u, tensor_of](std::span<T const> x, std::span<T> y) {
            auto const back = std::get<1>(vjp(f, std::tie(u), tensor_of(x)));
            std::copy(back.begin(), back.end(), y.begin());
          }};
}
/// J d = r to a tolerance, from the right preconditioned by M if there is one.
template <bool Adjoint, class F, class V>
std::pair<V, sla::report> solve_without_jacobian(F const& f, V const& u, V const& r, gmres const& method, std::optional<linear_operator<double>> const& M) {
  auto const J = jacobian_operator(f, u);
  auto s = [&] {
    auto const b = flat(r);
    if (M) return Adjoint ? try_solve(J.adjoint(), b, method, *M) : try_solve(J, b, method, *M);
    return Adjoint ? try_solve(J.adjoint(), b, method) : try_solve(J, b, method);
  }();
  return {shaped_as(r, std::move(s.x)), std::move(s.report)};
}
} // namespace detail

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

  /// Improves u until |F(u)| is small.
  template <class Problem, class V>
  void run(Problem const& problem, V& u) const {
    auto& report = problem.report();
    V r = problem.first_value(u);
    detail::nonlinear_stop const stop(report, rtol, atol, max_iterations, double(norm(r)));
    auto const M = detail::preconditioner_at(*this, problem.function(), u, report);
    report.jacobian += report.jacobian.empty() ? "J v by dual numbers" : "; J v by dual numbers";
    double forcing = first_forcing;
    double now = double(norm(r));
    while (stop.go_on(report, now)) {
      auto const [d, linear] = detail::solve_without_jacobian<false>(problem.function(), u, V(-r), gmres{.restart = restart, .rtol = forcing, .max_iterations = linear_iterations}, M);
      ++report.linear_solves;
      report.linear_iterations += linear.iterations(), report.derivatives += linear.iterations();
      report.linear = M ? text("gmres + ", precondition.name()) : "gmres";
      if (!linear.converged() && linear.reason() != reason::iteration_limit && linear.reason() != reason::stagnated)
        return detail::stop_for(report, linear.reason(), text("the linear solve of iteration ", report.steps, " failed: ", linear));
      double const length = detail::backtrack(problem, u, r, d, now, -2 * (1 - (std::min)(forcing, most_forcing)));
      if (length == 0)
        return detail::stop_for(report, reason::stagnated, text("no step of iteration ", report.steps + 1, " reduces |F|", detail::remark_of_full_step(problem, u, d), "; it is as small as rounding lets it be, the linear solves need a .precondition, or |F| has a minimum here that is not 0"));
      ++report.steps, report.step_lengths.push_back(length);
      double const next = double(norm(r)), ratio = next / now, safe = 0.9 * forcing * forcing;
      forcing = 0.9 * ratio * ratio;
      if (safe > 0.1) forcing = (std::max)(forcing, safe);
      forcing = (std::max)((std::min)(forcing, most_forcing), 0.5 * stop.tolerance / (std::max)(next, stop.tolerance));
      now = next;
    }
  }
};

} // namespace sla
