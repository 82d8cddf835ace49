// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `integrate(f, u0, times, method, ...)`: M u' = f(u, t) in fixed steps, with derivatives to u0, M and parameters in both modes: the
// steps transposed, latest first, over states that are kept at checkpoints. Read time_step.hpp and checkpoint_stack.hpp first.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/integrate/checkpoint_stack.hpp>
#include <sla/solve/integrate/dual_step.hpp>
#include <sla/solve/integrate/time_step.hpp>

namespace sla {

namespace detail {
/// Room for states like u, a column for each.
template <class V>
auto state_block(V const& u, index_t columns) {
  return block_like<typename V::value_type>(u, columns);
}
template <class V>
using state_block_t = decltype(state_block(std::declval<V const&>(), index_t(1)));
/// x + the column.
template <class V, class Block>
V plus_column(V x, Block const& from, index_t column) {
  auto* const to = own_numbers(x);
  auto const* const numbers = own_numbers(from);
  index_t const columns = width_of(from);
  for (index_t i = 0; i < own_size(x); ++i) to[i] += numbers[i * columns + column];
  return x;
}
template <class V>
V zero_like(V const& x) {
  return tangent_space<V>::zero(x);
}

/// How x and the states depend on u0, M and the parameters: the derivative of every step. U0, P: as parameter_of keeps them, M first of P.
template <class Stepper, class V, class U0, class... P>
struct integration_rule {
  using rule_tag = void;
  using state = time_state<V>;
  using block = state_block_t<V>;
  std::shared_ptr<Stepper> stepper;
  std::shared_ptr<checkpoint_stack<state>> kept;
  U0 u0;
  std::tuple<P...> parameters;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const& grid = stepper->grid();
    V const none = zero_like(std::get<0>(y));
    V next = std::get<0>(y), pending = none;
    V lambda = plus_column(std::get<0>(g), std::get<1>(g), grid.outputs() - 1);
    for (index_t k = grid.steps() - 1; k >= 0; --k) {
      state const s = kept->at(k, [&](index_t j, state const& from) { return advance(j, from); });
      V const w = linearized(k, next).solve_adjoint(lambda);
      tape t;
      traced<V> const last(t, t.input(s.u)), before(t, t.input(s.before));
      residual_of(k, last, before).pullback(next, w);
      lambda = pending + last.variable().take_cotangent();
      pending = before.variable().has_cotangent() ? before.variable().take_cotangent() : none;
      if (index_t const column = grid.output(k); column >= 0) lambda = plus_column(std::move(lambda), std::get<1>(g), column);
      next = s.u;
    }
    if constexpr (Traced<U0>) u0.variable().add(lambda);
  }
  template <class Y, class Out>
  void pushforward(Y const&, Out& out) const {
    auto const& grid = stepper->grid();
    state s = stepper->begin(u0.value());
    V d = zero_like(s.u), d_before = zero_like(s.before);
    if constexpr (Traced<U0>)
      if (auto const* tangent = u0.variable().tangent()) d = *tangent;
    block all = state_block(s.u, grid.outputs());
    put_column(all, 0, d);
    for (index_t k = 0; k < grid.steps(); ++k) {
      state next = advance(k, s);
      forward_mode mode;
      traced<V, forward_mode> const last(mode, detail::shared_of<dual_variable<V>>(&s.u, &d)), before(mode, detail::shared_of<dual_variable<V>>(&s.before, &d_before));
      solution_tangent<V> r(next.u);
      residual_of(k, last, before).pushforward(next.u, r.out());
      V d_next = r.is_zero() ? zero_like(d) : linearized(k, next.u).solve(r.take());
      if constexpr (Stepper::reads_before) d_before = std::move(d);
      d = std::move(d_next), s = std::move(next);
      if (index_t const column = grid.output(k + 1); column >= 0) put_column(all, column, d);
    }
    out.add(std::tuple<V, block>(std::move(d), std::move(all)));
  }

private:
  state advance(index_t k, state const& s) const {
    integration_report again;
    return std::apply([&](auto const&... p) { return stepper->advance(k, s, again, p.value()...); }, parameters);
  }
  decltype(auto) linearized(index_t k, V const& next) const {
    return std::apply([&](auto const&... p) -> decltype(auto) { return stepper->linearized(k, next, p.value()...); }, parameters);
  }
  template <class L>
  auto residual_of(index_t k, L const& last, L const& before) const {
    return residual_rule<typename Stepper::residual_type, L, L, P...>{stepper->residual(k), detail::shared_of<std::tuple<L, L, P...> const>(std::tuple_cat(std::tuple<L, L>(last, before), parameters))};
  }
};

/// The march of values, or of dual numbers.
template <bool Dual, class V, class F, class Method, class On, class Solver>
auto stepper_for(F const& f, time_grid grid, Method const& method, On const& on, std::shared_ptr<Solver> solver) {
  using Stepper = time_stepper<F, V, Method, On, Solver>;
  auto stepper = detail::shared_of<Stepper>(f, std::move(grid), method, on, std::move(solver));
  if constexpr (Dual)
    return detail::shared_of<dual_stepper<Stepper>>(std::move(stepper));
  else
    return stepper;
}

template <class F, class U, class Method, class On, class Linear, class Stored, class U0, class M, class... P>
auto integrated(F const& f, U const& from, time_grid grid, Method const& method, On const& on, Linear const& linear, Stored const& stored, U0 const& u0, M const& m, P const&... p) {
  constexpr bool dual = has_dual_elements<U> || has_dual_elements<plain_t<M>> || (has_dual_elements<plain_t<P>> || ...);
  auto const& start = [&]() -> decltype(auto) {
    if constexpr (dual && !has_dual_elements<U>)
      return with_slope(from, U(from.extents()));
    else
      return (from);
  }();
  if constexpr (!std::same_as<M, no_mass>) check_named(value_part(plain_value(m)), false, "integrate(f, u0, times, ..., mass(A))");
  using V = std::remove_cvref_t<decltype(start)>;
  using block = state_block_t<V>;
  double const began = seconds_now();
  index_t const steps = grid.steps();
  auto const stepper = stepper_for<dual, values_t<U>>(f, std::move(grid), method, on, solver_for<values_t<U>>(method, on, linear, stored));
  using Stepper = std::remove_cvref_t<decltype(*stepper)>;
  using state = typename Stepper::state;

  integration_report report;
  report.method = Method::name, report.steps_asked = steps;
  constexpr bool is_derived = Traced<U0> || Traced<M> || (Traced<P> || ...);
  if constexpr (is_derived) {
    report.checkpoints = method.checkpoints > 0 ? (std::min)(index_t(method.checkpoints), steps) : stored_for(steps, 3);
    report.repeated_steps = index_t(checkpointed_steps(steps, report.checkpoints)) - (steps - 1);
  }
  auto const kept = detail::shared_of<checkpoint_stack<state>>((std::max)(index_t(1), report.checkpoints), stepper->begin(start));
  block states = state_block(start, stepper->grid().outputs());
  put_column(states, 0, start);
  auto const advance = [&](index_t k, state const& s) {
    report.time = stepper->grid().time(k);
    state next = stepper->advance(k, s, report, plain_value(m), plain_value(p)...);
    ++report.steps;
    report.time = stepper->grid().time(k + 1);
    if (index_t const column = stepper->grid().output(k + 1); column >= 0) put_column(states, column, next.u);
    return next;
  };
  V x = advance(steps - 1, kept->at(steps - 1, advance)).u;
  report.state = reason::converged;
  report.seconds = seconds_now() - began;
  if constexpr (is_derived) {
    auto& home = home_of(u0, m, p...);
    using Rule = integration_rule<Stepper, V, decltype(parameter_of(home, u0)), decltype(parameter_of(home, m)), decltype(parameter_of(home, p))...>;
    auto made = record(home, std::tuple<V, block>(std::move(x), std::move(states)), Rule{stepper, kept, parameter_of(home, u0), {parameter_of(home, m), parameter_of(home, p)...}});
    auto& [end, all] = made;
    return integration<std::remove_cvref_t<decltype(end)>, std::remove_cvref_t<decltype(all)>>{std::move(end), std::move(all), std::move(report)};
  } else {
    return integration<V, block>{std::move(x), std::move(states), std::move(report)};
  }
}

template <class V>
inline constexpr bool is_vector = Unknown<V>;
template <class T, class E>
inline constexpr bool is_vector<tensor<T, E>> = E::rank == 1;
/// Does M, or none, map vectors of V?
template <class M, class V>
inline constexpr bool is_mass_of = std::same_as<M, no_mass>;
template <class M, class V>
  requires requires(M const& m, V const& u) { { eval(m * u) } -> std::same_as<V>; }
inline constexpr bool is_mass_of<M, V> = true;
/// The laws of the call, with their sentences; O: the options, M and P: the mass and the parameters among them.
template <class F, class V, class Method, class M, class... O, class... P>
constexpr bool require_integration(std::type_identity<std::tuple<P...>>) {
  constexpr bool has_method = IntegrationMethod<Method>;
  static_assert(has_method, "sla: integrate(f, u0, times, method, parameters...): the fourth argument is a method, theta{.implicitness = 0.5} or bdf2{}");
  if constexpr (has_method) {
    constexpr bool vectors = is_vector<V>;
    static_assert(vectors, "sla: integrate(f, u0, times, method, parameters...): u0 is a vector in host memory, or, with <sla/dist.hpp>, one on ranks that is Shard on every axis; to<host_memory>(u0) is one of a u0 on a device");
    if constexpr (vectors) {
      constexpr bool masses = (0 + ... + is_mass<O>::value) <= 1 && is_mass_of<values_t<plain_t<M>>, values_t<V>>;
      static_assert(masses, "sla: integrate(f, u0, times, method, mass(M)): give at most one M, a sparse tensor, whose rows lie as u0 does");
      constexpr bool callable = std::is_invocable_v<F const&, V const&, double, plain_t<P> const&...>;
      static_assert(callable, "sla: integrate(f, u0, times, method, parameters...): f takes u, t, and as many parameters as are given, by `auto const&`; what is traced it gets as a parameter");
      return masses && callable;
    }
  }
  return false;
}
} // namespace detail

/// M u' = f(u, t, parameters...) from u0 at times[0] on, in fixed steps: {x, states, report}: x is u at the last time, and states (n, times) has u at each, u0 first. f is a
/// function of a vector, such as a lambda, and takes u and the parameters by `auto const&`, and t as a number.
///     auto heat = [&](auto const& u, double, auto const& k) { return -k * (L * u); };
///     auto [x, states, report] = integrate(heat, u0, {0.0, 0.05, 0.1}, theta{.implicitness = 0.5, .steps = 20}, 1.5);
/// Behind the method may stand mass(M), a linear method and a preconditioner, and the parameters. The equation of each step is solved by newton{}, whose pattern, colours, order and factors or
/// hierarchy are kept over the steps; of an f that is linear there is one factorisation while the step is constant. There is no error control: halve the steps and compare.
/// Law: u0 is a vector in host memory, or one on ranks, where f writes numbers of run time as uniform(a); M is a sparse tensor (n, n). Times are constants. Cost: per step a solve and values of f, and of an f that is not linear Jacobians.
/// Gradient: to the traced ones among u0, M and the parameters, in both modes: that of the steps themselves, which back are transposed, latest first, with one solve by J^H each; a tape
/// stores `checkpoints` states (of bdf2 pairs) beside x and states, and repeats the steps that report.repeated_steps counts, to the tolerance of the steps.
/// Errors: value_error where times do not ascend, an option is out of its range, or f is no number, with the step and the element; integration_error with the report, where a step
/// is not solved; shape_error. Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996); Griewank and Walther, Algorithm 799: revolve (TOMS 2000).
template <class F, class U, class Method, class... O>
[[nodiscard]] auto integrate(F const& f, U const& u0, std::vector<double> const& times, Method const& method, O const&... options) {
  if constexpr (detail::UnevaluatedParameter<U>) {
    return integrate(f, detail::evaluated_parameter(u0), times, method, options...);
  } else {
    auto const& start = detail::plain_value(u0);
    using V = std::remove_cvref_t<decltype(start)>;
    auto const of = detail::by_role<detail::is_mass>(options...);
    mass<dependent_t<detail::no_mass, F>> const without(dependent_t<detail::no_mass, F>{});
    auto const& m = detail::pick<detail::is_mass>(options..., without).value;
    if constexpr (detail::require_integration<F, V, Method, std::remove_cvref_t<decltype(m)>, O...>(std::type_identity<decltype(of.parameters)>{})) {
      detail::time_grid grid(times, method.steps);
      method.check(grid);
      if (!(method.rtol >= 0 && method.rtol < 1) || !(method.linear_rtol >= 0 && method.linear_rtol < 1) || method.max_iterations < 0)
        throw value_error(text(Method::name, "{.rtol = ", method.rtol, ", .max_iterations = ", method.max_iterations, ", .linear_rtol = ", method.linear_rtol, "}: tolerances are at least 0 and less than 1, and .max_iterations is at least 0"));
      if (method.checkpoints < 0) throw value_error(text(Method::name, "{.checkpoints = ", method.checkpoints, "}: at least 1 state is stored; 0 lets the number of steps say"));
      if (std::string const words = detail::not_finite_in(detail::value_part(start)); !words.empty()) throw value_error(text("integrate(f, u0, times, ...): u0 has ", words));
      if constexpr (is_sparse_tensor<plain_t<std::remove_cvref_t<decltype(m)>>>)
        if (m.rows() != start.size() || m.cols() != start.size())
          throw shape_error(text("integrate(f, u0, times, ...): mass(M): M is ", m.rows(), " x ", m.cols(), ", and u0 has ", start.size(), " elements"));
      return std::apply(
          [&](auto const&... p) { return detail::integrated(f, start, std::move(grid), method, of.place, of.linear, of.stored, u0, detail::evaluated_parameter(m), detail::evaluated_parameter(p)...); }, of.parameters);
    } else {
      return detail::never<integration<V, V>>();  // well-formed, so that the sentence is the only error
    }
  }
}

} // namespace sla
