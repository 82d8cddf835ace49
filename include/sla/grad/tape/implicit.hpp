// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that an equation defines: `implicit(forward, residual, linearize, params...)`, and `record_implicit(home, x, linearize,
// rules...)` below it. However x was found, its derivative is one linear solve; the first user is grad/operation/traced_solve.hpp.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/tape/dual_elements.hpp>
#include <sla/grad/tape/record.hpp>

namespace sla {

namespace detail {
/// The tangent of x, or of several values x, before there is any.
template <class V>
struct solution_tangent {
  dual_variable<V> sum;
  explicit solution_tangent(V const& x) : sum(&x, nullptr) {}
  bool is_zero() const { return !sum.tangent(); }
  V take() { return sum.take_tangent(); }
  auto& out() { return sum; }
};
template <class... V>
struct solution_tangent<std::tuple<V const&...>> {
  joint_tangent<V...> sum;
  explicit solution_tangent(std::tuple<V const&...> const& x)
      : sum(std::apply([](V const&... v) { return joint_tangent<V...>(detail::shared_of<dual_variable<V>>(&v, nullptr)...); }, x)) {}
  bool is_zero() const { return sum.is_zero(); }
  std::tuple<V...> take() { return sum.take(); }
  auto& out() { return sum; }
};

template <class X>
inline constexpr int parts_of = 0;
template <class... V>
inline constexpr int parts_of<std::tuple<V...>> = int(sizeof...(V));
template <class X>
inline constexpr bool is_several = parts_of<X> > 0;
/// f(x, more...), or f(x..., more...) of several x.
template <class F, class X, class... More>
decltype(auto) call_with(F const& f, X const& x, More const&... more) {
  if constexpr (is_several<X>)
    return std::apply([&](auto const&... each) -> decltype(auto) { return f(each..., more...); }, x);
  else
    return f(x, more...);
}
/// One x, or the tuple of several.
template <class X>
X const& as_one(X const& x) {
  return x;
}
template <class X, class Y, class... More>
std::tuple<X, Y, More...> as_one(X const& x, Y const& y, More const&... more) {
  return {x, y, more...};
}
/// f(k-th of y, k-th of w) for each, or f(y, w) of one.
template <class F, class Y, class W>
void for_each_part(F const& f, Y& y, W& w) {
  if constexpr (is_several<std::remove_const_t<Y>>)
    [&]<std::size_t... K>(std::index_sequence<K...>) { (f(std::get<K>(y), std::get<K>(w)), ...); }(std::make_index_sequence<std::tuple_size_v<std::remove_const_t<Y>>>{});
  else
    f(y, w);
}
/// w = -w.
template <class W>
W negated(W w) {
  for_each_part([](auto& part, auto&) { part = -part; }, w, w);
  return w;
}

/// J dx = r: back, J^H w = g, and w to the rules; forth, r from the rules.
template <class Linearize, class... Rules>
struct implicit_rule {
  using rule_tag = void;
  Linearize linearize;
  std::tuple<Rules...> rules;

  template <class X, class G>
  void pullback(X const& x, G const& g) const {
    auto const w = call_with(linearize, x).solve_adjoint(g);
    std::apply([&](auto const&... rule) { (rule.pullback(x, w), ...); }, rules);
  }
  template <class X, class Out>
  void pushforward(X const& x, Out& out) const {
    solution_tangent<X> r(x);
    std::apply([&](auto const&... rule) { (rule.pushforward(x, r.out()), ...); }, rules);
    if (!r.is_zero()) out.add(call_with(linearize, x).solve(r.take()));
  }
};
} // namespace detail

/// The traced value of an x that an equation defines, or the tuple of traced values of several, from what was found and one rule per
/// operand: to first order J dx = r, where the rules say how r depends on the operands; of b - A x = 0, J is A, and r is db - dA x.
/// `linearize(x...)` gives what solves with J, when a derivative asks for it: back `solve_adjoint(g)`, w with J^H w = g, from which the rules
/// pull back, forth `solve(r)`; of several x, g and w and r are tuples. One entry of the tape. Errors: those of linearize and of its solves.
template <class Home, class X, class Linearize, class... Rules>
auto record_implicit(Home& home, X x, Linearize linearize, Rules... rules) {
  return record(home, std::move(x), detail::implicit_rule<Linearize, Rules...>{std::move(linearize), {std::move(rules)...}});
}

namespace detail {
template <class P>
struct kept_parameter {
  P p;
  P const& value() const { return p; }
};
/// An expression or a view is evaluated, traced or not: what it refers to may be gone when a derivative is asked for.
template <class P>
concept UnevaluatedParameter = requires(P const& p) { requires !std::same_as<decltype(eval(p)), P>; };
template <class P>
decltype(auto) evaluated_parameter(P const& p) {
  if constexpr (UnevaluatedParameter<P>)
    return eval(p);
  else
    return (p);
}
/// A parameter as the rule reads it, by value(): traced, or a plain one that outlives the call.
template <class Home, class P>
auto parameter_of(Home& home, P const& p) {
  if constexpr (Traced<P>)
    return p;
  else if constexpr (is_tensor<P> || is_sparse_tensor<P>)
    return kept_operand<P>{home.keep(p)};
  else
    return kept_parameter<P>{p};
}
/// The same traced anew, for one look at the residual.
template <class P>
decltype(auto) traced_again(tape& t, P const& p) {
  if constexpr (Traced<P>)
    return traced<plain_t<P>>(t, t.input(p.value()));
  else
    return p.value();
}
template <class P>
decltype(auto) traced_again(forward_mode& mode, P const& p) {
  if constexpr (Traced<P>)
    return traced<plain_t<P>, forward_mode>(mode, detail::shared_of<dual_variable<plain_t<P>>>(&p.value(), p.variable().tangent()));
  else
    return p.value();
}

/// How J dx = -dR depends on the parameters of a residual R: by its own derivative, in either mode.
template <class Residual, class... P>
struct residual_rule {
  using rule_tag = void;
  using Parameters = std::tuple<P...>;
  Residual residual;
  std::shared_ptr<Parameters const> parameters;

  template <class X, class W>
  void pullback(X const& x, W const& w) const {
    tape t;
    auto const again = traced_on(t);
    auto const y = residual_at(x, again);
    auto const seed = negated(w);
    for_each_part(
        [](auto const& part, auto const& s) {
          if constexpr (Traced<decltype(part)>) part.variable().add(contributed(s));
        },
        y, seed);
    t.sweep();
    for_each_part(
        [](auto const& p, auto const& input) {
          if constexpr (Traced<decltype(p)>)
            if (input.variable().has_cotangent()) p.variable().add(contributed(input.variable().take_cotangent()));
        },
        *parameters, again);
  }
  template <class X, class Out>
  void pushforward(X const& x, Out& out) const {
    forward_mode mode;
    auto const y = residual_at(x, traced_on(mode));
    auto const contribution = [](auto const& part) {
      if constexpr (Traced<decltype(part)>)
        return negated(part.variable().take_tangent());
      else
        return std::nullopt;
    };
    if constexpr (is_several<X>)
      out.add(std::apply([&](auto const&... part) { return std::tuple(contribution(part)...); }, y));
    else if constexpr (Traced<decltype(y)>)
      out.add(contribution(y));
  }

private:
  template <class Home>
  auto traced_on(Home& home) const {
    return std::apply([&](P const&... p) { return std::tuple<decltype(traced_again(home, p))...>(traced_again(home, p)...); }, *parameters);
  }
  template <class X, class Again>
  auto residual_at(X const& x, Again const& again) const {
    return std::apply([&](auto const&... p) { return call_with(residual, x, p...); }, again);
  }
};

template <class X>
inline constexpr bool are_traceable = HasCotangent<X>;
template <class... V>
inline constexpr bool are_traceable<std::tuple<V...>> = (HasCotangent<V> && ...);
/// What solves with dR/dx for x, and with its adjoint.
template <class J, class X>
concept LinearizedAt = requires(J const& j, X const& r) { j.solve(r), j.solve_adjoint(r); };
/// The laws of `implicit`.
template <class X, class Y, class J>
constexpr bool require_implicit() {
  constexpr bool is_found = are_traceable<X>;
  static_assert(is_found, "sla: implicit(forward, residual, linearize, params...): forward(params...) gives a number or a tensor of floating point, or a std::tuple of them");
  if constexpr (is_found) {
    constexpr bool fits = parts_of<X> == parts_of<Y>;
    static_assert(fits, "sla: implicit(forward, residual, linearize, params...): residual(x..., params...) has as many parts as x: of several a std::tuple, the k-th like the k-th x");
    if constexpr (fits) {
      constexpr bool solves = LinearizedAt<J, X>;
      static_assert(solves, "sla: implicit(forward, residual, linearize, params...): linearize(x..., params...) gives what solves with dR/dx: it has solve(r) and "
                            "solve_adjoint(g), of several x with tuples; prepare(J, lu{}) has them");
      return solves;
    }
  }
  return false;
}
template <class X>
auto traceable_or_zero(X x) {
  if constexpr (are_traceable<X>)
    return x;
  else
    return 0.0;
}

// ---- of parameters that are dual numbers: J dx = -dR of the values gives the slopes, forth and back, and the slope of J^H w is by the derivative
// ---- of the residual to x

/// What is like x, of its slopes.
template <class R>
auto slope_of_part(R const& r) {
  auto value = eval(r);
  if constexpr (has_dual_elements<decltype(value)>) {
    return slope_part(value);
  } else {
    value = 0.0 * value;
    return value;
  }
}
template <class X, class R>
X slope_of_parts(R const& r) {
  if constexpr (is_several<X>)
    return std::apply([](auto const&... part) { return X(slope_of_part(part)...); }, r);
  else
    return X(slope_of_part(r));
}
/// x with the slopes that R(x, p) = 0 gives it.
template <class X, class Residual, class Linearized, class... P>
auto with_slope_of_equation(X const& x, Residual const& residual, Linearized const& linearized, P const&... p) {
  return with_slope(x, X(linearized.solve(negated(slope_of_parts<X>(call_with(residual, x, p...))))));
}
/// What solves with J^H of dual numbers, from what solves with that of their values. `gradient(x, w)` is the cotangent of x, J^H w.
template <class Linearized, class X, class Gradient>
struct dual_linearized {
  Linearized linearized;
  X x;
  Gradient gradient;

  template <class G>
  auto solve_adjoint(G const& g) const {
    auto const w = linearized.solve_adjoint(value_part(g));
    using W = std::remove_const_t<decltype(w)>;
    auto r = slope_part(g);
    auto moved = slope_part(gradient(x, with_slope(w, slope_of_parts<W>(w))));
    for_each_part([](auto& to, auto& by) { to = to - by; }, r, moved);
    return with_slope(w, W(linearized.solve_adjoint(r)));
  }
};
/// The cotangents of x where residual(x...) has the cotangents w.
template <class Residual, class... X>
auto cotangent_of_parts(Residual const& residual, std::tuple<X...> const& x, auto const& w) {
  tape t;
  auto const inputs = std::apply([&](X const&... each) { return std::tuple<traced<X>...>(traced<X>(t, t.input(each))...); }, x);
  auto const r = std::apply(residual, inputs);
  for_each_part(
      [](auto const& part, auto const& seed) {
        if constexpr (Traced<decltype(part)>) part.variable().add(contributed(seed));
      },
      r, w);
  t.sweep();
  return std::apply([](auto const&... each) { return std::tuple<X...>(each.variable().take_cotangent()...); }, inputs);
}
template <class Residual>
struct gradient_of_residual {
  Residual residual;  ///< of x alone
  template <class X, class W>
  X operator()(X const& x, W const& w) const {
    if constexpr (is_several<X>)
      return cotangent_of_parts(residual, x, w);
    else
      return std::get<0>(cotangent_of_parts(residual, std::tuple<X>(x), w));
  }
};
/// linearize(x, p...) at the values of parameters of dual numbers, which are kept for it, as x is.
template <class Linearize, class X, class Parameters>
class linearize_values;
template <class Linearize, class X, class... P>
class linearize_values<Linearize, X, std::tuple<P...>> {
  using Values = std::tuple<decltype(value_part(std::declval<P const&>().value()))...>;

public:
  linearize_values(Linearize linearize, X x, std::shared_ptr<std::tuple<P...> const> const& parameters)
      : linearize_(std::move(linearize)), x_(detail::shared_of<X const>(std::move(x))),
        values_(std::apply([](P const&... p) { return detail::shared_of<Values const>(value_part(p.value())...); }, *parameters)) {}
  X const& x() const { return *x_; }
  auto operator()() const {
    return std::apply([&](auto const&... p) { return call_with(linearize_, *x_, p...); }, *values_);
  }

private:
  Linearize linearize_;
  std::shared_ptr<X const> x_;
  std::shared_ptr<Values const> values_;
};
/// What solves at x and at parameters of dual numbers, which it refers to.
template <class Linearized, class Residual, class X, class... P>
auto dual_linearized_at(Linearized of_values, Residual const& residual, X const& x, P const&... p) {
  auto of_x = [&residual, &p...](auto const&... at) { return residual(at..., p...); };
  using Gradient = gradient_of_residual<decltype(of_x)>;
  return dual_linearized<Linearized, X, Gradient>{std::move(of_values), x, Gradient{of_x}};
}
} // namespace detail

/// The x, or tuple of several, with residual(x..., params...) = 0 that forward(params...) finds, however it does. For the derivative the
/// residual R stands alone: dR/dx dx = -dR/dp dp, and back w with (dR/dx)^H w = g, of which the cotangents are -(dR/dp)^H w.
///     auto u = implicit([&](auto const& A, auto const& b) { return newton(A, b); },
///                       [](auto const& u, auto const& A, auto const& b) { return A * u + u * u * u - b; },
///                       [](auto const& u, auto const& A, auto const& b) { return prepare(A + diagonal(3.0 * u * u), lu{}); }, A, b);
/// forward and linearize see plain values, the residual plain ones and traced ones (`auto const&`). linearize(x..., params...) is called
/// where a derivative is asked for, and gives what has `solve(r)` and `solve_adjoint(g)` with dR/dx, of several x with tuples of what
/// belongs to the parts of R, or of x. linearize and the residual are copied: what they catch by reference outlives the sweep. Without a traced
/// parameter the result is forward(params...).
/// Law: R has as many parts as x, each like its x; dR/dx is regular there: of an x that is fixed to a factor, such as an eigenvector, what
/// fixes it is a part of R. Parameters are numbers, tensors and sparse tensors, or expressions, which are evaluated, traced or not; others are copied.
/// Cost: of a derivative one solve, one R, and its derivative to the parameters; one entry of the tape, whatever forward does.
/// Gradient: of x to the parameters in both modes; what the functions catch from outside is constant, and not traced. Errors: those of the three
/// functions; value_error, if the residual catches what is traced.
/// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 15; Blondel et al., Efficient and modular implicit differentiation (2022).
template <class Forward, class Residual, class Linearize, class... P>
auto implicit(Forward const& forward, Residual const& residual, Linearize const& linearize, P const&... params) {
  if constexpr ((detail::UnevaluatedParameter<P> || ...)) {
    return implicit(forward, residual, linearize, detail::evaluated_parameter(params)...);
  } else if constexpr ((Traced<P> || ...)) {
    auto found = forward(detail::value_part(detail::plain_value(params))...);
    using X = decltype(found);
    using Y = decltype(detail::call_with(residual, found, params...));
    using J = std::remove_cvref_t<decltype(detail::call_with(linearize, found, detail::value_part(detail::plain_value(params))...))>;
    auto& home = home_of(params...);
    if constexpr (detail::require_implicit<X, Y, J>()) {
      detail::residual_rule<Residual, decltype(detail::parameter_of(home, params))...> rule{
          residual, detail::shared_of<std::tuple<decltype(detail::parameter_of(home, params))...> const>(detail::parameter_of(home, params)...)};
      if constexpr ((detail::has_dual_elements<plain_t<P>> || ...)) {
        detail::linearize_values<Linearize, X, std::decay_t<decltype(*rule.parameters)>> const of_values(linearize, std::move(found), rule.parameters);
        auto x = detail::with_slope_of_equation(of_values.x(), residual, of_values(), detail::plain_value(params)...);
        auto linearized = [of_values, residual, parameters = rule.parameters](auto const&... at) {
          return std::apply([&](auto const&... p) { return detail::dual_linearized_at(of_values(), residual, detail::as_one(at...), p.value()...); }, *parameters);
        };
        return record_implicit(home, std::move(x), std::move(linearized), std::move(rule));
      } else {
        auto linearized = [linearize, parameters = rule.parameters](auto const&... at) {
          return std::apply([&](auto const&... p) { return linearize(at..., p.value()...); }, *parameters);
        };
        return record_implicit(home, std::move(found), std::move(linearized), std::move(rule));
      }
    } else {
      return record(home, detail::traceable_or_zero(std::move(found)));  // well-formed, so that the sentence is the only error
    }
  } else {
    return forward(detail::plain_value(params)...);
  }
}

} // namespace sla
