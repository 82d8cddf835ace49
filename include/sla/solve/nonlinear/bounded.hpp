// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonlinear systems with bounds, variational inequalities: `solve_bounded(F, u0, lower{..}, upper{..}, semismooth_newton{})`, with derivatives to
// the parameters and the bounds through the final active set. Methods: active_set.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/nonlinear/active_set.hpp>

namespace sla {

namespace detail {
/// What a solve with bounds leaves for its derivatives.
template <class V>
struct bounded_state {
  nonlinear_report report;
  held_elements<V> held;
  std::optional<V> is_free, at_low, c;
  std::string weak;  ///< the first element at a bound where F vanishes too
  int weak_count = 0;

  template <class Problem>
  void keep(Problem const& problem, complementarity<V> const& last, bounds_of<V> const& b, V const& x, V const& r, double tolerance) {
    using T = typename V::value_type;
    held = last.held;
    is_free = indicator(x, held, held_by::none), at_low = indicator(x, held, held_by::low);
    auto const is_weak = [&](index_t n) {
      auto const at = own_numbers(x)[n], low = own_numbers(b.low)[n], high = own_numbers(b.high)[n];
      return low < high && double(own_numbers(*c)[n]) * double((std::min)(at - low, high - at)) <= tolerance && std::abs(double(own_numbers(r)[n])) <= tolerance;
    };
    weak_count = problem.count(by_element(x, [&](index_t n) { return T(is_weak(n)); }));
    if (weak_count > 0) weak = first_said(x, is_weak, [](index_t, std::string const& number) { return number; });
  }
};
/// The method on a problem with bounds, and what it leaves.
template <class M, class V>
struct method_with_bounds : M {
  bounds_of<V> const& b;
  bounded_state<V>& state;

  template <class Problem, class Solver>
  void run(Problem const& problem, Solver& solver, V& u) const {
    auto const last = run_active_set(static_cast<M const&>(*this), problem, solver, b, u, state.c);
    auto const& report = problem.report();
    state.keep(problem, last, b, u, problem.value(u).r, (std::max)(report.rtol * report.first_residual, report.atol));
  }
};
/// dR/dx of R = F where an element is free, x - bound where it is held, and its solves.
template <class Solver, class V>
struct held_solver {
  std::shared_ptr<Solver> solver;
  std::shared_ptr<bounded_state<V> const> state;

  V solve(V const& r) const {
    V const image = solver->times(where_held(state->held, r, zero_of(r)));
    V const rhs = where_held(state->held, product_of(*state->c, r), difference(r, image));
    return where_held(state->held, r, solver->solve(rhs));
  }
  V solve_adjoint(V const& g) const {
    V const w = solver->solve_adjoint(where_held(state->held, zero_of(g), g));
    V const free = where_held(state->held, zero_of(g), w);
    return where_held(state->held, difference(g, solver->times_adjoint(free)), free);
  }

private:
  static V zero_of(V const& x) {
    return by_element(x, [](index_t) { return typename V::value_type(0); });
  }
  static V difference(V const& x, V const& y) {
    return by_element(x, [&](index_t n) { return own_numbers(x)[n] - own_numbers(y)[n]; });
  }
};

/// A bound as a parameter of the residual: on ranks a number for all elements is spread over them.
template <class V, class B>
auto bound_parameter(V const& u, B const& bound, char const* name) {
  if constexpr (!is_host_tensor<V> && Number<B>)
    return bounds_of<V>::spread(bound, u, name);
  else
    return bound;
}

template <class F, class V, class M, class On, class Linear, class Stored, class L, class H, class... P>
auto solve_with_bounds(F const& f, V const& u0, M const& method, On const& on, Linear const& linear, Stored const& stored, L const& l, H const& h, P const&... p) {
  auto const solver = solver_for<V>(method, on, linear, stored);
  solver->with_diagonal();
  auto const state = detail::shared_of<bounded_state<V>>();
  auto const with_state = [state, f](auto const& x, auto const& low, auto const& high, auto const&... q) { return where(*state->is_free, f(x, q...), x - where(*state->at_low, low, high)); };
  auto x = implicit(
      [&](auto const& low, auto const& high, auto const&... plain) {
        bounds_of<V> const b(u0, low, high);
        auto s = run_nonlinear(method_with_bounds<M, V>{method, b, *state}, *solver, on, with_parameters(f, plain...), u0);
        state->report = std::move(s.report);
        return std::move(s.x);
      },
      with_state,
      [f, solver, state, is_at_solution = detail::shared_of<bool>(false)](V const& at, auto const&, auto const&, auto const&... plain) {
        if (!state->report.converged()) throw nonlinear_error(state->report);
        if (state->weak_count > 0)
          throw value_error(text("solve_bounded(F, u0, ...): there is no derivative at this solution: strict complementarity fails at element ", state->weak, ", the first of ", state->weak_count,
                                 ", which is at its bound where F is 0 too, so that a small change decides whether the bound holds; move the parameters, or ask for a smaller .rtol"));
        if (!std::exchange(*is_at_solution, true)) {
          nonlinear_report of_derivative = state->report;
          solver->look(with_parameters(f, plain...), at, of_derivative);
          set_up_held(*solver, state->held, *state->c);
        }
        return held_solver<std::remove_cvref_t<decltype(*solver)>, V>{solver, state};
      },
      l, h, p...);
  return nonlinear_solution<decltype(x)>{std::move(x), state->report};
}

/// The laws of the call, with their sentences; P: the parameters, by reference.
template <class F, class V, class... O, class... P>
constexpr bool require_bounded(std::type_identity<std::tuple<P...>>) {
  constexpr bool has_method = (0 + ... + int(BoundedMethod<O>)) == 1;
  static_assert(has_method, "sla: solve_bounded(F, u0, lower{..}, upper{..}, method, parameters...): name one method, semismooth_newton{} or active_set{}, or none");
  if constexpr (has_method) {
    constexpr int lowers = (0 + ... + is_lower<O>::value), uppers = (0 + ... + is_upper<O>::value);
    constexpr bool has_bounds = lowers <= 1 && uppers <= 1 && lowers + uppers > 0;
    static_assert(has_bounds, "sla: solve_bounded(F, u0, lower{..}, upper{..}, method, parameters...): give lower{..}, upper{..}, or one of each; without bounds it is nonlinear_solve(F, u0, newton{}, parameters...)");
    constexpr bool is_real = !is_complex<typename element_type_of<V>::type>;
    static_assert(is_real, "sla: solve_bounded(F, u0, ...): u has real elements; complex ones have no order");
    if constexpr (has_bounds && is_real)
      if constexpr (require_unknown<V>()) return require_values<F, V, plain_t<P>...>();
  }
  return false;
}
} // namespace detail

/// {x, report}, whether or not the tolerance was reached: as solve_bounded, but for what it throws.
template <class F, class U, class... O>
  requires(BoundedMethod<O> || ...) || (NonlinearMethod<O> || ...)
[[nodiscard]] auto try_solve_bounded(F const& f, U const& u0, O const&... options) {
  auto const& values = detail::value_part(detail::plain_value(u0));
  auto const& start = detail::argument(values);
  using V = std::remove_cvref_t<decltype(start)>;
  auto const of = detail::by_role<detail::is_of_bounded>(options...);
  if constexpr (detail::require_bounded<F, V, O...>(std::type_identity<decltype(of.parameters)>{})) {
    lower<double> const no_low{-std::numeric_limits<double>::infinity()};
    upper<double> const no_high{std::numeric_limits<double>::infinity()};
    auto const& low = detail::pick<detail::is_lower>(options..., no_low).value;
    auto const& high = detail::pick<detail::is_upper>(options..., no_high).value;
    auto const& method = detail::pick<detail::wants_bounded_method>(options...);
    return std::apply([&](auto const&... p) { return detail::solve_with_bounds(f, start, method, of.place, of.linear, of.stored, detail::bound_parameter(start, low, "lower"), detail::bound_parameter(start, high, "upper"), p...); }, of.parameters);
  } else {
    return detail::never<nonlinear_solution<V>>();  // well-formed, so that the sentence is the only error
  }
}

/// The same without a method: by semismooth_newton{}, and where that fails by active_set{}.
template <class F, class U, class... O>
[[nodiscard]] auto try_solve_bounded(F const& f, U const& u0, O const&... options) {
  auto const by = [&](auto const& method) { return try_solve_bounded(f, u0, options..., method); };
  std::optional<decltype(by(semismooth_newton{}))> searched;
  try {
    searched.emplace(by(semismooth_newton{}));
  } catch (nonlinear_error const&) {  // of what has no derivative, in forward mode
    return by(active_set{});
  }
  if (searched->report.converged()) return std::move(*searched);
  auto full = by(active_set{});
  auto& tried = full.report.converged() ? full : *searched;
  auto const& other = full.report.converged() ? *searched : full;
  detail::add_remark(tried.report.why, "tried: ", full.report.converged() ? "semismooth_newton" : "active_set", ": ", to_string(other.report.state), " after ", other.report.steps);
  return std::move(tried);
}

/// u between its bounds with F(u, parameters...) = 0 where it is at neither, F >= 0 where it is at the lower one and F <= 0 where it is at the upper one, from u0, as {x, report}: a variational
/// inequality, such as an obstacle or contact problem, of which F is the gradient of an energy or not.
///     auto [u, report] = solve_bounded([&](auto const& v) { return A * v - f; }, zeros<double>(n), lower{psi}, semismooth_newton{});
/// Without a method it is semismooth_newton{}, and where that fails active_set{}. A bound is a number or a tensor, infinite where there is none; behind the method may stand a linear method, a preconditioner, and parameters of F. The report has the residual of
/// complementarity, recomputed, and how many elements are at their bounds, which they are to the last bit.
/// Law: as of nonlinear_solve, of real elements; on ranks a bound that is traced lies as u0 does. Gradient: to the traced ones among parameters and bounds, in both modes, with the elements that are held in the end: one solve with J or J^H.
/// Cost: that of newton, of both where the first fails. Without a solution semismooth_newton ends when 30 steps, or a quarter of its max_iterations, have reduced the residual by less than a tenth, and active_set when it
/// comes to a point again. Errors: as of nonlinear_solve; value_error where bounds cross; in a derivative value_error where an element is at its bound and F vanishes there too.
/// Source: Hintermueller, Ito and Kunisch (2003); Ulbrich, Semismooth Newton Methods for Variational Inequalities (2011).
template <class F, class U, class... O>
[[nodiscard]] auto solve_bounded(F const& f, U const& u0, O const&... options) {
  return detail::reached(try_solve_bounded(f, u0, options...));
}

} // namespace sla
