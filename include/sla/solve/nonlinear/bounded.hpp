// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonlinear systems with bounds, variational inequalities: `solve_bounded(F, u0, lower{..}, upper{..}, semismooth_newton{})`, by primal-dual
// active sets, with derivatives to the parameters and the bounds through the final one.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/solve/nonlinear/nonlinear_solve.hpp>

namespace sla {

/// A lower bound, a number for all elements of u or a tensor: `lower{0.0}`, `lower{psi}`.
template <class B>
struct lower {
  B value;
};
template <class B>
lower(B) -> lower<B>;
/// An upper bound, as lower.
template <class B>
struct upper {
  B value;
};
template <class B>
upper(B) -> upper<B>;

/// Options of a method for F(u) = 0 with bounds.
template <class M>
concept BoundedMethod = requires { typename M::bounded_method_tag; };

namespace detail {
template <class X>
inline constexpr bool is_lower = false;
template <class B>
inline constexpr bool is_lower<lower<B>> = true;
template <class X>
inline constexpr bool is_upper = false;
template <class B>
inline constexpr bool is_upper<upper<B>> = true;
template <class X>
concept BoundOption = is_lower<X> || is_upper<X>;

/// Both bounds of each element, infinite where there is none.
template <class V>
struct bounds_of {
  V low, high;

  /// A bound as one number for each element of u. Errors: shape_error; value_error.
  template <class B>
  static V spread(B const& bound, V const& u, char const* name) {
    using T = typename V::value_type;
    if constexpr (Number<B>) {
      V b(u.extents(), uninitialized);
      std::fill(b.begin(), b.end(), T(bound));
      return b;
    } else {
      auto b = eval(bound);
      if (b.size() != u.size()) throw shape_error(text("solve_bounded(F, u0, ", name, "{b}, ...): b has ", b.size(), " elements, and u ", u.size(), "; give one for each, or a number for all"));
      return V(u.extents(), std::move(b.values()));
    }
  }
  template <class L, class H>
  bounds_of(V const& u, L const& l, H const& h) : low(spread(l, u, "lower")), high(spread(h, u, "upper")) {
    for (index_t n = 0; n < u.size(); ++n)
      if (!(low[n] <= high[n]) || low[n] == std::numeric_limits<double>::infinity() || high[n] == -std::numeric_limits<double>::infinity())
        throw value_error(text("solve_bounded(F, u0, ...): the bounds of element ", n, " are ", low[n], " and ", high[n], "; a lower bound is at most the upper one, and neither is NaN"));
  }
  V clipped(V const& u) const {
    V x(u.extents(), uninitialized);
    for (index_t n = 0; n < u.size(); ++n) x[n] = (std::min)((std::max)(u[n], low[n]), high[n]);
    return x;
  }
};

/// How an element is held: by neither bound, the lower or the upper one.
enum class held_by : signed char { none, low, high };

/// The mid of c (u - high), F and c (u - low), which is 0 where u is a solution, and which of them it is.
template <class V>
struct complementarity {
  V value;
  std::vector<held_by> held;
  int low = 0, high = 0;

  complementarity(bounds_of<V> const& b, V const& c, V const& u, V const& r) : value(u.extents(), uninitialized), held(std::size_t(u.size()), held_by::none) {
    for (index_t n = 0; n < u.size(); ++n) {
      auto const above = c[n] * (u[n] - b.low[n]), below = c[n] * (u[n] - b.high[n]);
      if (above <= r[n])
        value[n] = above, held[std::size_t(n)] = held_by::low, ++low;
      else if (below >= r[n])
        value[n] = below, held[std::size_t(n)] = held_by::high, ++high;
      else
        value[n] = r[n];
    }
  }
};

/// J with the rows and columns of held elements taken out, and c on their diagonal: symmetric where J is.
template <class T, class V>
sparse_tensor<T> without_held(sparse_tensor<T> const& J, std::vector<held_by> const& held, V const& c) {
  sparse_tensor<T> K = J;
  auto const view = K.pattern().view();
  parallel_ranges(K.rows(), [&, values = K.values().data()](index_t first, index_t last) {
    for (index_t i = first; i < last; ++i) {
      bool const mine = held[std::size_t(i)] != held_by::none;
      view.for_row(i, [&](index_t s, index_t j) {
        if (mine || held[std::size_t(j)] != held_by::none) values[s] = mine && i == j ? c[i] : T(0);
      });
    }
  });
  return K;
}
/// The scale of each equation against its unknown: the diagonal of J where it is positive.
template <class T, class V>
V scales(sparse_tensor<T> const& J, V const& like) {
  V c(like.extents(), uninitialized);
  auto const d = diagonal_of(J);
  for (index_t n = 0; n < like.size(); ++n) c[n] = d[n] > 0 ? d[n] : d[n] < 0 ? -d[n] : T(1);
  return c;
}
/// x where the element is held, else y.
template <class V>
V where_held(std::vector<held_by> const& held, V const& x, V y) {
  for (index_t n = 0; n < y.size(); ++n)
    if (held[std::size_t(n)] != held_by::none) y[n] = x[n];
  return y;
}

/// Newton's method for the mid of c (u - high), F and c (u - low): each step holds what the mid takes from the bounds. Returns who is held in the end.
template <class Method, class Problem, class Solver, class V>
complementarity<V> run_active_set(Method const& method, Problem const& problem, Solver& solver, bounds_of<V> const& b, V& u, V& c) {
  using T = typename V::value_type;
  auto& report = problem.report();
  report.measure = "complementarity residual";
  u = b.clipped(u);
  V r = problem.first_value(u).r;
  c = scales(solver.jacobian_at(problem.function(), u, report), u);
  complementarity<V> now(b, c, u, r);
  double size = double(norm(now.value));
  nonlinear_stop const stop(report, method.rtol, method.atol, method.max_iterations, size);
  std::vector<double> last;
  auto const go_on = [&] {
    if (size <= stop.tolerance) {  // what rounding left outside of the bounds
      V inside = b.clipped(u);
      V value = problem.value(inside).r;
      complementarity<V> then(b, c, inside, value);
      u = std::move(inside), r = std::move(value), now = std::move(then), size = double(norm(now.value));
    }
    report.bound_lower = now.low, report.bound_upper = now.high;
    return stop.go_on(report, size);
  };
  while (go_on()) {
    if (report.steps > 0) solver.jacobian_at(problem.function(), u, report);
    auto const& J = solver.jacobian();
    V held = u;
    for (index_t n = 0; n < u.size(); ++n) {
      held_by const by = now.held[std::size_t(n)];
      held[n] = by == held_by::low ? b.low[n] - u[n] : by == held_by::high ? b.high[n] - u[n] : T(0);
    }
    V rhs = -r;
    rhs = rhs - shaped_as(u, vector<T>(J * flat(held)));
    rhs = where_held(now.held, V(c * held), std::move(rhs));
    solver.set_up(without_held(J, now.held, c));
    auto [d, linear] = solver.solve(rhs, report);
    if (!is_usable(linear))
      return stop_for(report, linear.reason(), text("the linear solve of iteration ", report.steps, " failed, with ", now.low + now.high, " elements held: ", linear)), now;
    d = where_held(now.held, held, std::move(d));

    double const allowed = [&] {
      if (!Method::searches) return std::numeric_limits<double>::infinity();
      last.push_back(size);
      if (last.size() > 8) last.erase(last.begin());
      return *std::max_element(last.begin(), last.end());
    }();
    double a = 1;
    for (;; a /= 2) {
      V next = u + T(a) * d;
      if (a == 1)  // exactly at the bounds
        for (index_t n = 0; n < u.size(); ++n) {
          if (now.held[std::size_t(n)] == held_by::low) next[n] = b.low[n];
          if (now.held[std::size_t(n)] == held_by::high) next[n] = b.high[n];
        }
      V value = problem.value(next).r;
      index_t const bad = first_not_finite(value);
      complementarity<V> then(b, c, next, value);
      double const left = double(norm(then.value));
      if (bad < 0 && (left <= (1 - 1e-4 * a) * allowed || left <= stop.tolerance)) {
        u = std::move(next), r = std::move(value), now = std::move(then), size = left;
        break;
      }
      if (bad >= 0 && !Method::searches)
        return stop_for(report, reason::not_a_number, text("F is ", value[bad], " at element ", bad, ", in iteration ", report.steps + 1, "; semismooth_newton{} takes shorter steps")), now;
      if (a < 1e-12)
        return stop_for(report, reason::stagnated, text("no step of iteration ", report.steps + 1, " reduces the residual", remark_of_full_step(problem, u, d), "; it is as small as rounding lets it be, or begin elsewhere")), now;
    }
    ++report.steps, report.step_lengths.push_back(a);
  }
  return now;
}
} // namespace detail

/// Newton's method for the semismooth equation mid(c (u - upper), F(u), c (u - lower)) = 0, c being the diagonal of the first Jacobian: a primal-dual active set, with steps shortened where
/// the residual would grow over the largest of the last eight. Options, pattern and linear solves as of newton. Ends when the norm of the mid, recomputed, is
/// at most max(rtol its first value, atol), and u is inside of its bounds.
/// Source: Hintermueller, Ito and Kunisch, The primal-dual active set strategy as a semismooth Newton method (2003); De Luca, Facchinei and Kanzow (1996) for the steps.
struct semismooth_newton {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 100;
  double linear_rtol = 1e-10;
  given_pattern pattern = {};

  using bounded_method_tag = void;
  static constexpr char const* name = "semismooth_newton";
  static constexpr bool searches = true;
};
/// The same in full steps: of a linear F with an M-matrix it ends after finitely many, each closer to the solution.
struct active_set {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 100;
  double linear_rtol = 1e-10;
  given_pattern pattern = {};

  using bounded_method_tag = void;
  static constexpr char const* name = "active_set";
  static constexpr bool searches = false;
};

namespace detail {
/// What a solve with bounds leaves for its derivatives.
template <class V>
struct bounded_state {
  nonlinear_report report;
  std::vector<held_by> held;
  V is_free, at_low, c;
  index_t weak = -1, weak_count = 0;  ///< elements at a bound where F vanishes too

  void keep(complementarity<V> const& last, bounds_of<V> const& b, V const& x, V const& r, double tolerance) {
    using T = typename V::value_type;
    held = last.held;
    is_free = V(x.extents()), at_low = V(x.extents());
    for (index_t n = 0; n < x.size(); ++n) {
      is_free[n] = T(held[std::size_t(n)] == held_by::none), at_low[n] = T(held[std::size_t(n)] == held_by::low);
      double const distance = double(c[n]) * double((std::min)(x[n] - b.low[n], b.high[n] - x[n]));
      if (b.low[n] < b.high[n] && distance <= tolerance && std::abs(double(r[n])) <= tolerance) {
        if (weak_count++ == 0) weak = n;
      }
    }
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
    state.keep(last, b, u, problem.value(u).r, (std::max)(report.rtol * report.first_residual, report.atol));
  }
};
/// dR/dx of R = F where an element is free, x - bound where it is held, and its solves.
template <class Solver, class V>
struct held_solver {
  std::shared_ptr<Solver> solver;
  std::shared_ptr<bounded_state<V> const> state;

  V solve(V const& r) const {
    auto const& J = solver->jacobian();
    V const known = where_held(state->held, r, V(r.extents()));
    V rhs = r - shaped_as(r, vector<typename V::value_type>(J * flat(known)));
    return where_held(state->held, r, solver->solve(where_held(state->held, V(state->c * r), std::move(rhs))));
  }
  V solve_adjoint(V const& g) const {
    auto const& J = solver->jacobian();
    V const w = solver->solve_adjoint(where_held(state->held, V(g.extents()), g));
    V const free = where_held(state->held, V(g.extents()), w);
    return where_held(state->held, V(g - shaped_as(g, vector<typename V::value_type>(adjoint(J) * flat(free)))), free);
  }
};

template <class F, class V, class M, class Linear, class L, class H, class... P>
auto solve_with_bounds(F const& f, V const& u0, M const& method, Linear const& linear, L const& l, H const& h, P const&... p) {
  using T = typename V::value_type;
  auto const solver = make_jacobian_solver<V>(method.pattern, linear_rtol_for<M, T>(method), std::tuple<>(), linear);
  solver->with_diagonal();
  auto const state = std::make_shared<bounded_state<V>>();
  auto const with_state = [state, f](auto const& x, auto const& low, auto const& high, auto const&... q) { return where(state->is_free, f(x, q...), x - where(state->at_low, low, high)); };
  auto x = implicit(
      [&](auto const& low, auto const& high, auto const&... plain) {
        bounds_of<V> const b(u0, low, high);
        auto s = run_nonlinear(method_with_bounds<M, V>{method, b, *state}, *solver, std::tuple<>(), with_parameters(f, plain...), u0);
        state->report = std::move(s.report);
        return std::move(s.x);
      },
      with_state,
      [f, solver, state, is_at_solution = std::make_shared<bool>(false)](V const& at, auto const&, auto const&, auto const&... plain) {
        if (!state->report.converged()) throw nonlinear_error(state->report);
        if (state->weak_count > 0)
          throw value_error(text("solve_bounded(F, u0, ...): there is no derivative at this solution: strict complementarity fails at element ", state->weak, ", the first of ", state->weak_count,
                                 ", which is at its bound where F is 0 too, so that a small change decides whether the bound holds; move the parameters, or ask for a smaller .rtol"));
        if (!std::exchange(*is_at_solution, true)) {
          nonlinear_report of_derivative = state->report;
          solver->set_up(without_held(solver->jacobian_at(with_parameters(f, plain...), at, of_derivative), state->held, state->c));
        }
        return held_solver<std::remove_cvref_t<decltype(*solver)>, V>{solver, state};
      },
      l, h, p...);
  return nonlinear_solution<decltype(x)>{std::move(x), state->report};
}

template <class O>
auto tied_method(O const& option) {
  if constexpr (BoundedMethod<O>)
    return std::tuple<O const&>(option);
  else
    return std::tuple<>();
}
template <bool High, class O>
auto tied_bound(O const& option) {
  if constexpr (High ? is_upper<O> : is_lower<O>)
    return std::tuple<decltype(option.value) const&>(option.value);
  else
    return std::tuple<>();
}
template <class O>
auto tied_other(O const& option) {
  if constexpr (BoundOption<O> || BoundedMethod<O>)
    return std::tuple<>();
  else
    return std::tuple<O const&>(option);
}
/// The laws of the call, with their sentences; P: the parameters, by reference.
template <class F, class V, class... O, class... P>
constexpr bool require_bounded(std::type_identity<std::tuple<P...>>) {
  constexpr bool has_method = (0 + ... + int(BoundedMethod<O>)) == 1;
  static_assert(has_method, "sla: solve_bounded(F, u0, lower{..}, upper{..}, method, parameters...): name one method, semismooth_newton{} or active_set{}");
  if constexpr (has_method) {
    constexpr bool has_bounds = (0 + ... + int(is_lower<O>)) <= 1 && (0 + ... + int(is_upper<O>)) <= 1 && (BoundOption<O> || ...);
    static_assert(has_bounds, "sla: solve_bounded(F, u0, lower{..}, upper{..}, method, parameters...): give lower{..}, upper{..}, or one of each; without bounds it is nonlinear_solve(F, u0, newton{}, parameters...)");
    constexpr bool is_real = !is_complex<typename element_type_of<V>::type>;
    static_assert(is_real, "sla: solve_bounded(F, u0, ...): u has real elements; complex ones have no order");
    if constexpr (has_bounds && is_real) return require_function<F, V, plain_t<P>...>();
  }
  return false;
}
} // namespace detail

/// {x, report}, whether or not the tolerance was reached: as solve_bounded, but for what it throws.
template <class F, class U, class... O>
[[nodiscard]] auto try_solve_bounded(F const& f, U const& u0, O const&... options) {
  auto const& start = detail::argument(detail::plain_value(u0));
  using V = std::remove_cvref_t<decltype(start)>;
  auto const others = std::tuple_cat(detail::tied_other(options)...);
  auto const linear = std::apply([](auto const&... o) { return detail::linear_options(o...); }, others);
  auto const parameters = std::apply([](auto const&... o) { return detail::parameters(o...); }, others);
  if constexpr (detail::require_bounded<F, V, O...>(std::type_identity<std::remove_const_t<decltype(parameters)>>{})) {
    constexpr double none = std::numeric_limits<double>::infinity();
    auto const low = std::tuple_cat(detail::tied_bound<false>(options)..., std::tuple<double>(-none));
    auto const high = std::tuple_cat(detail::tied_bound<true>(options)..., std::tuple<double>(none));
    auto const& method = std::get<0>(std::tuple_cat(detail::tied_method(options)...));
    return std::apply([&](auto const&... p) { return detail::solve_with_bounds(f, start, method, linear, std::get<0>(low), std::get<0>(high), p...); }, parameters);
  } else {
    return detail::never<nonlinear_solution<V>>();  // well-formed, so that the sentence is the only error
  }
}

/// u between its bounds with F(u, parameters...) = 0 where it is at neither, F >= 0 where it is at the lower one and F <= 0 where it is at the upper one, from u0, as {x, report}: a variational
/// inequality, such as an obstacle or contact problem, of which F is the gradient of an energy or not.
///     auto [u, report] = solve_bounded([&](auto const& v) { return A * v - f; }, zeros<double>(n), lower{psi}, semismooth_newton{});
/// A bound is a number or a tensor, infinite where there is none; behind the method may stand a linear method, a preconditioner, and parameters of F. The report has the residual of
/// complementarity, recomputed, and how many elements are at their bounds, which they are to the last bit.
/// Law: as of nonlinear_solve, of real elements. Gradient: to the traced ones among parameters and bounds, in both modes, with the elements that are held in the end: one solve with J or J^H.
/// Cost: that of newton. Errors: as of nonlinear_solve; value_error where bounds cross; in a derivative value_error where an element is at its bound and F vanishes there too.
/// Source: Hintermueller, Ito and Kunisch (2003); Ulbrich, Semismooth Newton Methods for Variational Inequalities (2011).
template <class F, class U, class... O>
[[nodiscard]] auto solve_bounded(F const& f, U const& u0, O const&... options) {
  return detail::reached(try_solve_bounded(f, u0, options...));
}

} // namespace sla
