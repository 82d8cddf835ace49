// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Primal-dual active sets: bounds, which of them hold an element, and Newton's method for what then is an equation. The calls are in
// solve/nonlinear/bounded.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
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
struct is_lower : std::false_type {};
template <class B>
struct is_lower<lower<B>> : std::true_type {};
template <class X>
struct is_upper : std::false_type {};
template <class B>
struct is_upper<upper<B>> : std::true_type {};
template <class M>
using wants_bounded_method = std::bool_constant<BoundedMethod<M>>;
/// What solve_bounded alone takes.
template <class X>
using is_of_bounded = std::bool_constant<is_lower<X>::value || is_upper<X>::value || BoundedMethod<X>>;

/// Both bounds of each element, infinite where there is none.
template <class V>
struct bounds_of {
  V low, high;

  /// A bound as one number for each element of u. Errors: shape_error; value_error.
  template <class B>
  static V spread(B const& bound, V const& u, char const* name) {
    using T = typename V::value_type;
    if constexpr (Number<B>) {
      V b = u;
      std::fill_n(own_numbers(b), own_size(b), T(bound));
      return b;
    } else {
      auto b = eval(bound);
      if (own_size(b) != own_size(u))
        throw shape_error(text("solve_bounded(F, u0, ", name, "{b}, ...): b has ", own_size(b), " elements, and u ", own_size(u), "; give one for each, or a number for all"));
      return laid_as(u, std::move(b));
    }
  }
  template <class L, class H>
  bounds_of(V const& u, L const& l, H const& h) : low(spread(l, u, "lower")), high(spread(h, u, "upper")) {
    auto const *const from = own_numbers(low), *const to = own_numbers(high);
    std::string const words = first_said(
        u, [&](index_t n) { return !(from[n] <= to[n]) || from[n] == std::numeric_limits<double>::infinity() || to[n] == -std::numeric_limits<double>::infinity(); },
        [&](index_t n, std::string const& number) { return text("the bounds of element ", number, " are ", from[n], " and ", to[n]); });
    if (!words.empty()) throw value_error(text("solve_bounded(F, u0, ...): ", words, "; a finite number has to be in them, and neither is NaN"));
  }
  V clipped(V x) const {
    auto* const numbers = own_numbers(x);
    auto const *const from = own_numbers(low), *const to = own_numbers(high);
    for (index_t n = 0; n < own_size(x); ++n) numbers[n] = (std::min)((std::max)(numbers[n], from[n]), to[n]);
    return x;
  }
};

/// How an element is held: by neither bound, the lower or the upper one.
enum class held_by : signed char { none, low, high };

/// How each element of a V is held.
template <class V>
using held_elements = std::vector<dependent_t<held_by, V>>;

/// f(n) for each element that this process has, as a vector like u.
template <class V, class F>
V by_element(V const& u, F const& f) {
  V x = u;
  auto* const numbers = own_numbers(x);
  for (index_t n = 0; n < own_size(x); ++n) numbers[n] = f(n);
  return x;
}

/// The mid of c (u - high), F and c (u - low), which is 0 where u is a solution, and which of them it is, of the elements that this process has.
template <class V>
struct complementarity {
  V value;
  held_elements<V> held;

  complementarity(bounds_of<V> const& b, V const& c, V const& u, V const& r) : value(u), held(std::size_t(own_size(u)), held_by::none) {
    auto* const to = own_numbers(value);
    for (index_t n = 0; n < own_size(u); ++n) {
      auto const scale = own_numbers(c)[n], at = own_numbers(u)[n], f = own_numbers(r)[n];
      auto const above = scale * (at - own_numbers(b.low)[n]), below = scale * (at - own_numbers(b.high)[n]);
      to[n] = f;
      if (above <= f)
        to[n] = above, held[std::size_t(n)] = held_by::low;
      else if (below >= f)
        to[n] = below, held[std::size_t(n)] = held_by::high;
    }
  }
};

/// J with the rows and columns of held elements taken out, and c on their diagonal: symmetric where J is.
template <class T, class V>
sparse_tensor<T> without_held(sparse_tensor<T> const& J, held_elements<V> const& held, V const& c) {
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
/// 1 where an element is held, or free.
template <class V>
V indicator(V const& like, held_elements<V> const& held, held_by by) {
  return by_element(like, [&](index_t n) { return typename V::value_type(held[std::size_t(n)] == by); });
}
/// Ready to solve with the Jacobian that was looked at, without what is held.
template <class Solver, class V>
void set_up_held(Solver& solver, held_elements<V> const& held, V const& c) {
  if constexpr (requires { solver.jacobian(); })
    solver.set_up(without_held(solver.jacobian(), held, c));
  else
    solver.set_up_held(indicator(c, held, held_by::none), c);
}
/// The scale of each equation against its unknown: the size of the diagonal of the Jacobian, or 1 where that is 0 or not known.
template <class Solver, class V>
V scales(Solver const& solver, V const& like) {
  using T = typename V::value_type;
  auto const size = [](T d) { return d > 0 ? d : d < 0 ? -d : T(1); };
  if constexpr (requires { solver.jacobian(); }) {
    auto const d = diagonal_of(solver.jacobian());
    return by_element(like, [&](index_t n) { return size(d[n]); });
  } else if constexpr (requires { solver.diagonal_at(index_t()); }) {
    return by_element(like, [&](index_t n) { return size(solver.diagonal_at(n)); });
  } else {
    return by_element(like, [](index_t) { return T(1); });
  }
}
/// x where the element is held, else y.
template <class V>
V where_held(held_elements<V> const& held, V const& x, V y) {
  auto* const to = own_numbers(y);
  for (index_t n = 0; n < own_size(y); ++n)
    if (held[std::size_t(n)] != held_by::none) to[n] = own_numbers(x)[n];
  return y;
}
template <class V>
V product_of(V const& x, V const& y) {
  return by_element(x, [&](index_t n) { return own_numbers(x)[n] * own_numbers(y)[n]; });
}

/// Newton's method for the mid of c (u - high), F and c (u - low): each step holds what the mid takes from the bounds. Returns who is held in the end.
template <class Method, class Problem, class Solver, class V>
complementarity<V> run_active_set(Method const& method, Problem const& problem, Solver& solver, bounds_of<V> const& b, V& u, std::optional<V>& scale) {
  using T = typename V::value_type;
  auto& report = problem.report();
  report.call = "solve_bounded", report.measure = "complementarity residual";
  u = b.clipped(u);
  V r = problem.first_value(u).r;
  solver.look(problem.function(), u, report);
  V const& c = scale.emplace(scales(solver, u));
  complementarity<V> now(b, c, u, r);
  double size = problem.norm(now.value);
  nonlinear_stop const stop(report, method.rtol, method.atol, method.max_iterations, size);
  std::vector<dependent_t<double, V>> last;
  auto const rounding = [&] {
    return problem.rounding_at(u, now.value, [&](V const& v) { return complementarity<V>(b, c, v, problem.value(v).r).value; });
  };
  auto const count_held = [&] {
    report.bound_lower = problem.count(indicator(u, now.held, held_by::low)), report.bound_upper = problem.count(indicator(u, now.held, held_by::high));
  };
  auto const put_inside = [&] {  // what rounding left outside of the bounds
    V inside = b.clipped(u);
    V value = problem.value(inside).r;
    complementarity<V> then(b, c, inside, value);
    u = std::move(inside), r = std::move(value), now = std::move(then), size = problem.norm(now.value);
  };
  auto const end_at_rounding = [&] {  // where what is put inside is no more than rounding, still
    put_inside(), count_held(), report.true_residual = size;
    if (size > stop.tolerance && !stop.is_rounding(report, rounding())) report.state = reason::stagnated;
  };
  auto const go_on = [&] {
    if (size <= stop.tolerance) put_inside();
    count_held();
    if (stop.go_on_unless(report, size, rounding)) return true;
    if (report.converged() && size > stop.tolerance) end_at_rounding();
    return false;
  };
  // Full steps that come to a point again go round for ever; one is remembered, of step 0, 1, 2, 4, ... (Brent 1980). Shorter ones may creep.
  std::optional<V> remembered;
  int of_step = 0;
  auto const ends_nowhere = [&] {
    if constexpr (Method::searches) {
      auto const& h = report.history;
      std::ptrdiff_t const few = (std::max)(30, method.max_iterations / 4);
      if (std::ptrdiff_t(h.size()) > few && *std::min_element(h.end() - few, h.end()) > 0.9 * *std::min_element(h.begin(), h.end() - few))
        stop_for(report, reason::stagnated, text("the last ", few, " steps reduced the residual by less than a tenth: there may be no solution near, or none between the bounds; begin elsewhere, move the parameters, or give bounds on the side to which u goes"));
    } else {
      auto const is_back = [&](V const& v) {  // each element: large ones say nothing of small ones
        return problem.norm(by_element(u, [&](index_t n) {
          auto const x = own_numbers(u)[n], y = own_numbers(v)[n];
          return T(!(std::abs(x - y) <= 100 * std::numeric_limits<real_t<T>>::epsilon() * std::abs(x)));
        })) == 0;
      };
      if (remembered && is_back(*remembered))
        stop_for(report, reason::stagnated, text("iteration ", report.steps, " is where iteration ", of_step, " was: full steps go round; take semismooth_newton{}, which shortens them, or begin elsewhere: there may be no solution"));
      if ((report.steps & (report.steps - 1)) == 0) remembered = u, of_step = report.steps;
    }
    return report.state == reason::stagnated;
  };
  while (go_on()) {
    if (ends_nowhere()) {
      if (method.rtol > 0 && stop.is_rounding(report, rounding())) end_at_rounding();
      return now;
    }
    if (report.steps > 0) solver.look(problem.function(), u, report);
    V const held = by_element(u, [&](index_t n) {
      held_by const by = now.held[std::size_t(n)];
      return by == held_by::none ? T(0) : own_numbers(by == held_by::low ? b.low : b.high)[n] - own_numbers(u)[n];
    });
    V const rhs = where_held(now.held, product_of(c, held), problem.scaled(-1, problem.sum(r, 1, solver.times(held))));
    set_up_held(solver, now.held, c);
    auto [d, linear] = solver.solve(rhs, report);
    if (!is_usable(linear))
      return stop_for(report, linear.reason(), text("the linear solve of iteration ", report.steps, " failed, with ", report.bound_lower + report.bound_upper, " elements held: ", linear)), now;
    d = where_held(now.held, held, std::move(d));

    double const allowed = [&] {
      if (!Method::searches) return std::numeric_limits<double>::infinity();
      last.push_back(size);
      if (last.size() > 8) last.erase(last.begin());
      return *std::max_element(last.begin(), last.end());
    }();
    double a = 1;
    for (;; a /= 2) {
      V next = problem.sum(u, T(a), d);
      if (a == 1)  // exactly at the bounds
        for (index_t n = 0; n < own_size(u); ++n) {
          if (now.held[std::size_t(n)] == held_by::low) own_numbers(next)[n] = own_numbers(b.low)[n];
          if (now.held[std::size_t(n)] == held_by::high) own_numbers(next)[n] = own_numbers(b.high)[n];
        }
      auto value = problem.value(next);
      bool const is_finite = std::isfinite(value.norm);
      complementarity<V> then(b, c, next, value.r);
      double const left = problem.norm(then.value);
      if (is_finite && (left <= (1 - 1e-4 * a) * allowed || left <= stop.tolerance)) {
        u = std::move(next), r = std::move(value.r), now = std::move(then), size = left;
        break;
      }
      if (!is_finite && !Method::searches)
        return stop_for(report, reason::not_a_number, text(problem.words_of(value.r), ", in iteration ", report.steps + 1, "; semismooth_newton{} takes shorter steps")), now;
      if (a < 1e-12 && method.rtol > 0 && stop.is_rounding(report, rounding())) {
        end_at_rounding();
        return now;
      }
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

} // namespace sla
