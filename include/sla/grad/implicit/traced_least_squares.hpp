// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Least squares of traced operands: one entry of the tape, and one more problem of the size of the first. Back: N w = g for N = A^H A + damping^2 gives
// b: A w, A_k: r[row] conj(w[col]) - (A w)[row] conj(x[col]), damping: -2 damping Re (w, x). Forth: N dx = A^H (db - dA x) + dA^H r - 2 damping d(damping) x.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/implicit/dual_least_squares.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/grad/tape/implicit.hpp>
#include <sla/solve/least_squares/least_squares_calls.hpp>

namespace sla {

namespace detail {
/// The real part of w^H x, of the elements of all ranks.
template <class A, class X>
double real_inner([[maybe_unused]] A const& a, X const& w, X const& x) {
  if constexpr (requires { x.local(); }) {
    auto space = space_of_call(a, x);
    auto const [s] = fuse(space, dot_of(w, x));
    space.finish();
    double sum = 0;
    for (auto const& of_item : space.read(s)) sum += double(real_of(to_kernel(of_item)));
    return sum;
  } else {
    return double(real_of(to_kernel(eval(dot(w, x)))));
  }
}
/// factor * x, where every rank has the factor.
template <class X>
X multiplied(X x, double factor) {
  if constexpr (requires { x.local(); })
    x.local() = factor * x.local();
  else
    x = factor * x;
  return x;
}
/// The options of a call without those that are for its first solve only; damping is handed on by itself.
template <class O>
auto option_of_derivative(O const& option) {
  if constexpr (is_damping<O> || std::same_as<O, keep_history_t>)
    return std::tuple<>{};
  else
    return std::tuple<O>{option};
}
/// Those for A^H in the place of A: a preconditioner that is set up is for the other side.
template <class O>
auto option_of_adjoint(O const& option) {
  if constexpr (AppliedPreconditioner<O>)
    return std::tuple<>{};
  else
    return option_of_derivative(option);
}
template <class O>
O const& plain_damping(O const& option) {
  return option;
}
template <class V, class Home>
damping_option<V> plain_damping(damping_option<traced<V, Home>> const& option) {
  return {option.value.value()};
}

/// What the cotangent of x hands to the operands: b: z, A: left_w w^H - z x^H + y p^H.
template <class V, class X>
struct least_squares_adjoint {
  std::optional<X> w;
  V z;
  std::optional<X> p;
};
/// The solution of a call to first order. Place: where it runs; Options: those of its derivatives.
template <class Operand, class V, class X, class Engine, class Place, class... Options>
struct least_squares_linearized {
  Operand m;  ///< A
  V r;  ///< b - A x
  double damping;
  bool wide;  ///< fewer rows than columns, and no damping: x is the shortest of many, and depends on A in another way
  std::shared_ptr<Engine> engine;
  dependent_t<least_squares_report, X> report;
  Place place;
  std::tuple<Options...> options;

  auto const& a() const { return m.value(); }
  static constexpr bool is_preconditioned = ((wants_preconditioner<Options>::value && !std::same_as<Options, identity>) || ...);
  static constexpr char const* law = "a derivative of x wants independent columns of A (of fewer rows than columns, rows), or a damping";
  template <class S>
  static X checked(least_squares_solution<S>&& s) {
    if (!s.report.converged()) {
      add_remark(s.report.choice, law);
      throw solve_error(std::move(s.report), "least_squares");
    }
    return std::move(s.x);
  }
  /// N^-1 g.
  X by_normal(X const& g) const {
    V zero = r;
    zero = 0.0 * r;
    return checked(engine->solve_normal(a(), zero, g, place));
  }
  /// The x of least |A^H z - g|, and A^+ b, of another problem each.
  V by_adjoint(X const& g) const {
    auto const back = linear_world<std::remove_cvref_t<decltype(a())>>::adjoint(a());
    return std::apply([&](auto const&... all) { return std::apply([&](auto const&... o) { return V(least_squares(back, g, o...)); }, std::tuple_cat(option_of_adjoint(all)...)); }, options);
  }
  X by_system(V const& b) const {
    return std::apply([&](auto const&... o) { return X(least_squares(a(), b, o...)); }, options);
  }
  /// y with x = A^H y.
  V multiplier(X const& x) const {
    double const rounding = (std::max)(1e-6, 10 * report.rtol);
    for (auto const& n : report.least_squares) {
      if (n.residual_norm <= rounding * n.size_of_b) continue;
      auto singular = report;
      add_remark(singular.choice, law);
      for (auto& item : singular.items) item.state = reason::singular;
      throw solve_error(std::move(singular), "least_squares");
    }
    return by_adjoint(x);
  }

  least_squares_linearized const& operator()(X const&) const {
    if (!report.converged()) throw solve_error(report, "least_squares");
    if (wide && is_preconditioned)
      throw value_error("least_squares(A, b, method, preconditioner): of fewer rows than columns x is the shortest in the norm of the preconditioner, which is not differentiated: leave it out, or give a damping");
    return *this;
  }
  least_squares_adjoint<V, X> solve_adjoint(X const& g) const {
    using sla::adjoint;
    if (wide) {
      V z = by_adjoint(g);
      X p = g - adjoint(a()) * z;
      return {std::nullopt, std::move(z), std::move(p)};
    }
    X w = by_normal(g);
    V z = a() * w;
    return {std::move(w), std::move(z), std::nullopt};
  }
  /// What the rules add up is the right-hand side of N dx, or, of a wide A, dx itself.
  X solve(X const& g) const { return wide ? g : by_normal(g); }
};

/// {x, report} of a call with traced A, b or damping.
template <class A, class B, class... Options>
auto trace_least_squares(A const& a, B const& b, Options const&... options) {
  using sla::adjoint;
  using Plain = plain_t<A>;
  auto const undamped = damping(0.0);
  auto const& own_damping = pick<wants_damping>(options..., undamped).value;
  auto& home = home_of(a, b, own_damping);
  auto const m = [&] {
    if constexpr (Traced<A>)
      return operand_of(a);
    else
      return kept_operand<A>{home.keep(a)};
  }();
  using World = linear_world<Plain>;
  double const d = damping_of_options(plain_damping(options)...);
  auto const& vector = named_least_squares([&]() -> decltype(auto) { return World::right_hand_side(m.value(), plain_value(b)); });
  using V = std::remove_cvref_t<decltype(vector)>;
  auto const place = place_of_options(options...);
  using Engine = decltype(least_squares_engine_for(m.value(), d, options...));
  auto engine = named_least_squares([&] { return detail::shared_of<Engine>(least_squares_engine_for(m.value(), d, options...)); });
  auto found = named_least_squares([&] { return engine->solve(m.value(), vector, place, has_history<Options...>); });
  using X = decltype(found.x);
  auto const sides = sides_of(m.value());
  auto kept = std::tuple_cat(option_of_derivative(options)...);
  auto const linearized = [&, sides]<class... O>(std::tuple<O...> const& rest) {
    using L = least_squares_linearized<std::remove_cvref_t<decltype(m)>, V, X, typename decltype(engine)::element_type, std::remove_cvref_t<decltype(place)>, O...>;
    return detail::shared_of<L const>(L{m, V(vector - m.value() * found.x), d, d == 0 && sides.first < sides.second, engine, found.report, place, rest});
  }(kept);
  auto const at = [linearized](X const& x) -> auto const& { return (*linearized)(x); };
  auto const of_b = linear_in(
      b, [](auto const&, auto const& w) -> auto const& { return w.z; },
      [linearized](auto const&, auto const& db) {
        if (linearized->wide) return linearized->by_system(V(db));
        return X(adjoint(linearized->a()) * db);
      });
  auto const of_a = linear_in(
      m,
      [linearized](auto const& x, auto const& w) {
        return adds([linearized, &x, &w](auto& sum) {
          outer_contribution(linearized->a(), w.z, x, -1).add_to(sum);
          if (w.w) outer_contribution(linearized->a(), linearized->r, *w.w, 1).add_to(sum);
          if (w.p) outer_contribution(linearized->a(), linearized->multiplier(x), *w.p, 1).add_to(sum);
        });
      },
      [linearized](auto const& x, auto const& dA) {
        if (!linearized->wide) return X(adjoint(dA) * linearized->r - adjoint(linearized->a()) * V(dA * x));
        X const turned = adjoint(dA) * linearized->multiplier(x);
        return X(turned - linearized->by_system(V(dA * x + linearized->a() * turned)));
      });
  auto const of_damping = linear_in(
      own_damping,
      [d, linearized](auto const& x, auto const& w) {
        if (!w.w) return 0.0;  // of damping 0
        return -2 * d * real_inner(linearized->a(), *w.w, x);
      },
      [d](auto const& x, auto const& dd) { return multiplied(x, -2 * d * dd); });
  auto out = found.report;
  auto x = record_implicit(home, std::move(found.x), at, of_b, of_a, of_damping);
  return least_squares_solution<decltype(x)>{x, std::move(out)};
}

template <class O>
inline constexpr bool is_traced_damping = false;
template <class V, class Home>
inline constexpr bool is_traced_damping<damping_option<traced<V, Home>>> = true;
template <class A, class B, class... Options>
concept TracedLeastSquares = !DualLeastSquares<A, B, Options...> && (Traced<A> || Traced<B> || (is_traced_damping<Options> || ...)) && linear_world<plain_t<A>>::template accepts<plain_t<B>>;
} // namespace detail

template <detail::LeastSquaring Op, class A, class B, class... Options>
  requires detail::TracedLeastSquares<A, B, Options...>
auto perform(Op, A const& a, B const& b, Options const&... options) {
  if constexpr (detail::least_squares_laws<plain_t<A>, plain_t<B>, std::remove_cvref_t<decltype(detail::plain_damping(options))>...>::hold)
    return detail::answer_of<Op>(detail::trace_least_squares(a, b, options...));
  else
    return detail::answer_of<Op>(detail::never<least_squares_solution<plain_t<B>>>());  // well-formed, so that the sentence is the only error
}
// transpose(A), adjoint(A) and conj(A) of a traced A are stored.
template <detail::LeastSquaring Op, class A, class B, class... Options>
  requires detail::StoredTracedView<A>
auto perform(Op, A const& a, B const& b, Options const&... options) {
  return detail::answer_of<Op>(try_least_squares(perform(op::eval{}, a), b, options...));
}

} // namespace sla
