// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls for F(u) = 0: `nonlinear_solve`, which throws where the tolerance is not reached, and `try_nonlinear_solve`; with derivatives to
// the parameters in both modes. Methods: newton.hpp, pseudo_transient.hpp, anderson.hpp; systems with bounds: bounded.hpp.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/tape/implicit.hpp>
#include <sla/solve/driver/progress.hpp>
#include <sla/solve/nonlinear/anderson.hpp>
#include <sla/solve/nonlinear/newton.hpp>
#include <sla/solve/nonlinear/pseudo_transient.hpp>

namespace sla {

namespace detail {
/// A linear method or a preconditioner among the parameters of a call.
template <class O>
concept LinearOption = MethodOption<O> || PreconditionerOptions<O> || AppliedPreconditioner<O>;

/// How Jacobians are stored, of a higher floor: `solver<V>(rtol, linear options)` solves with them.
template <class O>
concept JacobianOption = requires { typename O::jacobian_option_tag; };
/// The options of a call, by what they are for: linear solves, where to run, how Jacobians are stored, and parameters of F.
enum class role_of_option { linear, place, jacobian, parameter };
template <class O>
inline constexpr role_of_option role_of = JacobianOption<O> ? role_of_option::jacobian : LinearOption<O> ? role_of_option::linear : is_on_space<O> ? role_of_option::place : role_of_option::parameter;
/// Those of a role, by reference, but by value where to run: derivatives are taken there later. `Own`: what the call alone takes, of no role.
template <template <class> class Own, role_of_option Role, class O>
auto tied_if(O const& option) {
  if constexpr (Own<O>::value || role_of<O> != Role)
    return std::tuple<>();
  else if constexpr (Role == role_of_option::place)
    return std::tuple<O>(option);
  else
    return std::tuple<O const&>(option);
}
/// Tuples of those of linear solves, where to run, how Jacobians are stored, and the parameters.
template <class Linear, class Place, class Stored, class Parameters>
struct options_by_role {
  Linear linear;
  Place place;
  Stored stored;
  Parameters parameters;
};
template <class L, class Place, class S, class P>
options_by_role(L, Place, S, P) -> options_by_role<L, Place, S, P>;
template <class O>
using takes_no_own = std::false_type;
template <template <class> class Own = takes_no_own, class... O>
auto by_role(O const&... o) {
  return options_by_role{std::tuple_cat(tied_if<Own, role_of_option::linear>(o)...), std::tuple_cat(tied_if<Own, role_of_option::place>(o)...), std::tuple_cat(tied_if<Own, role_of_option::jacobian>(o)...),
                         std::tuple_cat(tied_if<Own, role_of_option::parameter>(o)...)};
}

/// What solves with dF/du at the solution, for derivatives: set up once, with what the forward solve has left. Errors: nonlinear_error, solve_error.
template <class Pointer>
struct solver_at_solution {
  Pointer solver;
  template <class R>
  auto solve(R const& r) const {
    return solver->solve(r);
  }
  template <class G>
  auto solve_adjoint(G const& g) const {
    return solver->solve_adjoint(g);
  }
};
template <class M>
double linear_rtol_of(M const& method) {
  if constexpr (requires { method.linear_rtol; }) {
    if (!(method.linear_rtol >= 0 && method.linear_rtol < 1)) throw value_error(text(M::name, "{.linear_rtol = ", method.linear_rtol, "}: it is at least 0 and less than 1, such as 1e-10"));
    return method.linear_rtol;
  } else {
    return 1e-10;
  }
}
template <class M, class T>
double linear_rtol_for(M const& method) {
  return (std::max)(linear_rtol_of(method), 100 * double(std::numeric_limits<real_t<T>>::epsilon()));
}

/// Does the method never store a Jacobian?
template <class M>
inline constexpr bool is_without_jacobian = requires(M const& m) { m.linear_method(0.1); };
/// Is there a jacobian_on(A) that its own sentence has refused?
template <class Stored>
inline constexpr bool is_refused = false;
template <class Option>
  requires requires { typename std::remove_cvref_t<Option>::refused; }
inline constexpr bool is_refused<std::tuple<Option>> = true;
/// Refused: jacobian_on(D) behind a vector of one rank.
template <class V, class Stored>
constexpr bool require_place_of_jacobian() {
  constexpr bool refused = is_refused<Stored>;
  constexpr bool fits = refused || std::tuple_size_v<Stored> == 0 || !is_tensor<V>;
  static_assert(fits, "sla: nonlinear_solve(F, u0, method, jacobian_on(D), ...), solve_bounded, trace_branch, integrate: with jacobian_on(D) u0 is a vector on ranks that lies as the rows of D; of a u0 in host memory leave jacobian_on(D) out: the pattern is found by itself");
  return fits && !refused;
}
/// What solves with the Jacobian for a method, and for derivatives. Stored: a tuple of how, or none.
template <class V, class M, class On, class Linear, class Stored>
auto solver_for(M const& method, On const& on, Linear const& linear, Stored const& stored) {
  constexpr bool fits = require_place_of_jacobian<V, Stored>();
  double const rtol = linear_rtol_for<M, typename V::value_type>(method);
  if constexpr (is_without_jacobian<M>)
    return detail::shared_of<operator_solver<V, On>>(rtol, on);
  else if constexpr (std::tuple_size_v<Stored> > 0 && fits)
    return std::get<0>(stored).template solver<V>(rtol, linear);
  else
    return make_jacobian_solver<V>(method.pattern, rtol, on, linear);
}

/// One solve without a trace.
template <class M, class Solver, class On, class F, class V>
nonlinear_solution<V> run_nonlinear(M const& method, Solver& solver, On const& on, F const& of_u, V u) {
  nonlinear_report report;
  report.method = M::name, report.atol = method.atol;
  if (!(method.rtol >= 0 && method.rtol < 1) || !(method.atol >= 0) || method.max_iterations < 0)
    throw value_error(text(M::name, "{.rtol = ", method.rtol, ", .atol = ", method.atol, ", .max_iterations = ", method.max_iterations, "}: .rtol is from 0 to 1, .atol and .max_iterations are at least 0"));
  if constexpr (requires { method.damping; })
    if (!(method.damping - method.damping == 0 && method.damping != 0)) throw value_error(text(M::name, "{.damping = ", method.damping, "}: a step is -damping M F(u); damping is a finite number other than 0, such as 1"));
  double const start = seconds_now();
  if (std::string const words = not_finite_in(u); !words.empty()) throw value_error(text(report.method, "{}: u0 has ", words));
  auto space = space_of_unknowns(u, on);
  nonlinear_problem<F, V, decltype(space)> const problem(of_u, report, space);
  if constexpr (requires { method.run(problem, solver, u); })
    method.run(problem, solver, u);
  else
    method.run(problem, u);
  report.seconds = seconds_now() - start;
  return {std::move(u), std::move(report)};
}
template <class X>
nonlinear_solution<X> reached(nonlinear_solution<X>&& s) {
  if (!s.report.converged()) throw nonlinear_error(std::move(s.report));
  return std::move(s);
}

template <class F, class V, class M, class On, class Linear, class Stored, class... P>
auto solve_nonlinear(F const& f, V const& u0, M const& method, On const& on, Linear const& linear, Stored const& stored, P const&... p) {
  auto const solver = solver_for<V>(method, on, linear, stored);
  auto const report = detail::shared_of<dependent_t<nonlinear_report, F>>();
  auto x = implicit(
      [&](auto const&... plain) {
        auto s = run_nonlinear(method, *solver, on, with_parameters(f, plain...), u0);
        *report = std::move(s.report);
        return std::move(s.x);
      },
      f,
      [f, method, solver, report, is_at_solution = detail::shared_of<bool>(false)](V const& u, auto const&... plain) {
        if (!report->converged()) throw nonlinear_error(*report);
        if (!std::exchange(*is_at_solution, true)) {
          nonlinear_report of_derivative = *report;
          auto const of_u = with_parameters(f, plain...);
          if constexpr (is_without_jacobian<M>) solver->use(method.linear_method(1e-10), preconditioner_at(method, of_u, u, of_derivative));
          solver->linearize(of_u, u, of_derivative);
        }
        return solver_at_solution<std::remove_const_t<decltype(solver)>>{solver};
      },
      p...);
  return nonlinear_solution<decltype(x)>{std::move(x), *report};
}

/// The laws of the call, with their sentences; P: the parameters, by reference.
template <class F, class V, class M, class Linear, class Stored, class... P>
constexpr bool require_nonlinear(std::type_identity<std::tuple<P...>>) {
  constexpr bool has_method = NonlinearMethod<M>;
  static_assert(has_method, "sla: nonlinear_solve(F, u0, method, parameters...): the third argument is a method, such as newton{}, pseudo_transient{}, newton_krylov{}, anderson{} or picard{}");
  if constexpr (has_method) {
    constexpr bool takes_linear = std::tuple_size_v<Linear> + std::tuple_size_v<Stored> == 0 || std::same_as<M, newton> || std::same_as<M, pseudo_transient>;
    static_assert(takes_linear, "sla: nonlinear_solve(F, u0, method, ...): newton{} and pseudo_transient{} take a linear method and a preconditioner behind them, on ranks jacobian_on(D) too; newton_krylov{}, anderson{} and picard{} have .precondition");
    if constexpr (takes_linear && require_place_of_jacobian<V, Stored>())
      if constexpr (require_unknown<V>()) return require_values<F, V, plain_t<P>...>();
  }
  return false;
}
} // namespace detail

/// {x, report}, whether or not the tolerance was reached: as nonlinear_solve, but for what it throws.
template <class F, class U, class M, class... O>
[[nodiscard]] auto try_nonlinear_solve(F const& f, U const& u0, M const& method, O const&... options) {
  auto const& values = detail::value_part(detail::plain_value(u0));
  auto const& start = detail::argument(values);
  using V = std::remove_cvref_t<decltype(start)>;
  auto const of = detail::by_role(options...);
  if constexpr (detail::require_nonlinear<F, V, M, decltype(of.linear), decltype(of.stored)>(std::type_identity<decltype(of.parameters)>{}))
    return std::apply([&](auto const&... p) { return detail::solve_nonlinear(f, start, method, of.place, of.linear, of.stored, p...); }, of.parameters);
  else
    return detail::never<nonlinear_solution<V>>();  // well-formed, so that the sentence is the only error
}

/// u with F(u, parameters...) = 0, found from u0, as {x, report}: F is a function of tensors, such as a lambda, and takes u and the parameters by `auto const&`.
///     auto bratu = [&](auto const& u, auto const& lambda) { return A * u - (h2 * lambda) * exp(u); };
///     auto [u, report] = nonlinear_solve(bratu, zeros<double>(n), newton{.rtol = 1e-10}, 5.0);
/// Methods: newton{}, pseudo_transient{} (sparse Jacobians), newton_krylov{} (none), anderson{}, picard{} (values of F alone). Behind the first two may stand a linear method
/// and a preconditioner. The report has the residual |F(x)|, recomputed, and why it stopped.
/// Law: F(u) has as many elements as u, a tensor in host memory, or a vector on ranks that is Shard on every axis; parameters are numbers, tensors, sparse tensors and what else F takes. Gradient: to the traced ones among the parameters, in both
/// modes: of one solve with J^H, or J, at x, by what the method has set up; F catches what is traced only as a parameter. Placement: x lies as u0; on ranks no Jacobian is stored: newton{} and
/// pseudo_transient{} solve with J v there, by GMRES or the method behind them. The option on(make_space) runs it elsewhere, such as on a queue. Cost: that of the method.
/// Errors: nonlinear_error with the report, if the tolerance was not reached; value_error where F(u0) or a derivative is no number, or F(u0) is not 0 but below 1e-140, and so is .atol; shape_error; in a derivative solve_error.
/// Source: Kelley, Solving Nonlinear Equations with Newton's Method (2003); for derivatives Griewank and Walther, Evaluating Derivatives (2008), chapter 15.
template <class F, class U, class M, class... O>
[[nodiscard]] auto nonlinear_solve(F const& f, U const& u0, M const& method, O const&... options) {
  return detail::reached(try_nonlinear_solve(f, u0, method, options...));
}

} // namespace sla
