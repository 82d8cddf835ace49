// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `record(home, y, rules...)`: how an operation on traced values is recorded, with one or several results, and one rule per operand
// that serves reverse and forward mode. Values that an equation defines are in grad/tape/implicit.hpp; the library's rules in grad/operation.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/tape/derivatives.hpp>
#include <sla/grad/tape/traced.hpp>

namespace sla {

/// The home of the first traced operand: a tape, or forward mode. `home.keep(x)` keeps a plain operand for a rule.
template <class X, class... Rest>
auto& home_of(X const& x, Rest const&... rest) {
  if constexpr (is_tracing<X>)
    return x.home();
  else
    return home_of(rest...);
}

namespace detail {
/// What may stand beside a traced operand of an elementwise operation.
template <class X>
concept ElementsOrTraced = TracedElements<X> || Operand<X>;

// ---- operands as the forward operation and the rule see them: node(), and kept(), which is all that the rule holds

template <class Variable>
struct traced_operand {
  static constexpr bool traced = true;
  Variable* v;
  auto const& value() const { return v->value(); }
  auto node() const { return as_node(v->value()); }
  /// A cotangent or tangent as an expression of its elements.
  template <class D>
  static auto elements(D const& d) {
    return as_node(d);
  }
  traced_operand kept() const { return *this; }
};
template <class V>
struct kept_operand {
  static constexpr bool traced = false;
  std::shared_ptr<V const> v;
  V const& value() const { return *v; }
  auto node() const { return as_node(*v); }
  kept_operand kept() const { return *this; }
};
template <class T>
struct number_operand {
  static constexpr bool traced = false;
  T v;
  auto node() const { return as_node(v); }
  number_operand kept() const { return *this; }
};
/// In the place of an operand that the rule does not read.
struct ignored_operand {
  static constexpr bool traced = false;
  auto node() const { return constant<int>{0}; }
};
template <class Node>
struct passing_operand {
  static constexpr bool traced = false;
  Node x;
  Node const& node() const { return x; }
  ignored_operand kept() const { return {}; }
};

template <Traced X>
auto operand_of(X const& x) {
  return traced_operand<typename X::variable_type>{&x.variable()};
}
/// An operand of an elementwise operation or a reduction. Read: some pullback reads it.
template <bool Read, class Home, class X>
auto trace_operand(Home& t, X&& x) {
  using P = std::remove_cvref_t<X>;
  if constexpr (Traced<X>) {
    return operand_of(x);
  } else if constexpr (Number<X>) {
    return number_operand<P>{x};
  } else if constexpr (!Read) {
    return passing_operand<node_t<X>>{as_node(std::forward<X>(x))};
  } else if constexpr (is_tensor<P>) {
    if constexpr (std::is_lvalue_reference_v<X>)
      return kept_operand<P>{t.keep(x)};
    else
      return kept_operand<P>{detail::shared_of<P const>(std::move(x))};
  } else {
    auto value = eval(std::forward<X>(x));
    return kept_operand<decltype(value)>{detail::shared_of<decltype(value) const>(std::move(value))};
  }
}

// ---- rules: how a result y depends on one operand, to first order and in both directions. `pullback(y, g)` adds to the operand's
// ---- cotangent what the cotangent g of y makes of it; `pushforward(y, out)` adds to the tangent of y what the operand's makes of it.

/// A linear map and its adjoint: pullback_(y, g) and pushforward_(y, d) give the contributions.
template <class Variable, class Pullback, class Pushforward>
struct linear_rule {
  using rule_tag = void;
  Variable* v;
  Pullback pullback_;
  Pushforward pushforward_;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    v->add(pullback_(y, g));
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    if (auto const* d = v->tangent()) out.add(pushforward_(y, *d));
  }
};
} // namespace detail

/// The rule of an operand without a trace.
struct no_rule {
  using rule_tag = void;
  template <class Y, class G>
  void pullback(Y const&, G const&) const {}
  template <class Y, class Out>
  void pushforward(Y const&, Out&) const {}
};
/// How the result y of an operation depends on its operand x, to first order: a linear map and its adjoint. `pullback(y, g)` gives what
/// the cotangent g of y contributes to that of x, `pushforward(y, d)` what the tangent d of x contributes to that of y: expressions,
/// tensors, numbers, or `adds(f)`. Of several results y, g and what pushforward gives are tuples, where std::nullopt is no contribution.
/// Both are called while x, if it is captured by value, still has its value: x.value(). Of an x without a trace it is `no_rule`.
template <class Operand, class Pullback, class Pushforward>
auto linear_in([[maybe_unused]] Operand const& x, Pullback pullback, Pushforward pushforward) {
  if constexpr (Traced<Operand>)
    return detail::linear_rule<typename Operand::variable_type, Pullback, Pushforward>{&x.variable(), std::move(pullback), std::move(pushforward)};
  else if constexpr (requires { requires Operand::traced; })
    return detail::linear_rule<std::remove_pointer_t<decltype(x.v)>, Pullback, Pushforward>{x.v, std::move(pullback), std::move(pushforward)};
  else
    return no_rule{};
}
/// The contribution that is the cotangent, or the tangent, itself: `linear_in(x, unchanged, unchanged)`.
inline constexpr auto unchanged = [](auto const&, auto const& d) -> auto const& { return d; };

namespace detail {

/// Re conj(a) b, 0 where one of them is 0, though the other be infinite, as derivatives may be.
struct real_pairing {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return real_of(times(conj_of(is_zero(b) ? A{} : a), is_zero(a) ? B{} : b));
  }
};
struct join_parts {
  template <class A>
  SLA_HD static constexpr complex<A> apply(A re, A im) {
    return {re, im};
  }
};
template <class Y>
struct element_type_of {
  using type = Y;
};
template <class T, class E, class Memory>
struct element_type_of<tensor<T, E, Memory>> {
  using type = T;
};

/// A rule of one text for both directions: contribution(y, g), linear over the reals in g and made of g's own element (or of the
/// one number that a reduction gives). A real-linear map is its adjoint's adjoint: J d = Re conj(J^H 1) d + i Re conj(J^H i) d.
template <class Operand, class Contribution>
struct pointwise_rule {
  using rule_tag = void;
  Operand x;
  Contribution contribution;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    x.v->add(contribution(y, g));
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    using T = typename element_type_of<Y>::type;
    if (auto const* d = x.v->tangent()) {
      auto const re = paired(contribution(y, T(1)), x.elements(*d));
      if constexpr (is_complex<T>) {
        auto const im = paired(contribution(y, T(0, 1)), x.elements(*d));
        out.add(binary<join_parts, std::remove_const_t<decltype(re)>, std::remove_const_t<decltype(im)>>{re, im});
      } else {
        out.add(re);
      }
    }
  }

private:
  template <class C, class D>
  static auto paired(C const& c, D const& d) {
    return binary<real_pairing, C, D>{c, d};
  }
};
} // namespace detail

/// A rule of one text for both directions, of what is done element by element, or is reduced to one number: contribution(y, g) gives an
/// expression of g's own element (or of the one number that there is) and of elements that stand beside it, linear over the reals in g.
template <class Operand, class Contribution>
auto pointwise_in([[maybe_unused]] Operand const& x, Contribution contribution) {
  if constexpr (Traced<Operand>)
    return pointwise_in(detail::operand_of(x), std::move(contribution));
  else if constexpr (requires { requires Operand::traced; })
    return detail::pointwise_rule<Operand, Contribution>{x, std::move(contribution)};
  else
    return no_rule{};
}

/// How a result depends on one operand: what linear_in and pointwise_in make, or a struct with a rule_tag, `pullback(y, g)`, which adds
/// to the operand's cotangent what the cotangent g of y makes of it, and `pushforward(y, out)`, which adds to the tangent of y what the operand's makes.
template <class R>
concept Rule = requires { typename R::rule_tag; };

namespace detail {
/// The tangents of several results, as one.
template <class... V>
class joint_tangent {
public:
  explicit joint_tangent(std::shared_ptr<dual_variable<V>> const&... parts) : parts_(parts...) {}
  /// One contribution to each; std::nullopt is none.
  template <class... X>
  void add(std::tuple<X...> const& contributions) {
    static_assert(sizeof...(X) == sizeof...(V), "sla: the pushforward of an operation with several results gives a tuple of as many contributions, std::nullopt where there is none");
    [&]<std::size_t... K>(std::index_sequence<K...>) { (add_one(*std::get<K>(parts_), std::get<K>(contributions)), ...); }(std::index_sequence_for<V...>{});
  }
  bool is_zero() const {
    return std::apply([](auto const&... part) { return (!part->tangent() && ...); }, parts_);
  }
  /// All of them, at the end.
  std::tuple<V...> take() const {
    return std::apply([](auto const&... part) { return std::tuple<V...>(part->take_tangent()...); }, parts_);
  }

private:
  template <class Part, class X>
  static void add_one(Part& part, X const& contribution) {
    if constexpr (!std::same_as<X, std::nullopt_t>) part.add(contribution);
  }
  std::tuple<std::shared_ptr<dual_variable<V>>...> parts_;
};

template <class... Rules>
constexpr bool require_rules() {
  constexpr bool hold = (Rule<Rules> && ...);
  static_assert(hold, "sla: record(home, y, rules...): a rule serves both modes: linear_in(x, pullback, pushforward) or pointwise_in(x, contribution), or "
                      "a struct with a rule_tag, pullback(y, g) and pushforward(y, out)");
  return hold;
}

/// What the sweep calls for an entry: the rule of each operand.
template <class... Rules>
struct rules_of_entry {
  std::tuple<Rules...> rules;
  template <class Y, class G>
  void operator()(Y const& y, G const& g) const {
    std::apply([&](auto const&... rule) { (rule.pullback(y, g), ...); }, rules);
  }
};
} // namespace detail

/// The traced value of an operation of yours, from its value and one rule per operand: on a tape the rules wait for the sweep, in
/// forward mode they run at once. It is one entry of the tape.
///     auto apply_stencil(auto const& x) {   // of a traced vector
///       auto const rule = linear_in(x, [](auto const&, auto const& g) { return stencil_transposed(g); }, [](auto const&, auto const& d) { return stencil(d); });
///       return record(home_of(x), stencil(x.value()), rule);
///     }
/// Law: y is a number, a tensor or a sparse tensor, or what has a `cotangent_space`.
template <class V, class Home, class... Rules>
traced<V, Home> record(Home& home, V value, Rules... rules) {
  if constexpr (!detail::require_rules<Rules...>()) {
    return record(home, std::move(value));  // well-formed, so that the sentence is the only error
  } else if constexpr (std::same_as<Home, forward_mode>) {
    auto y = detail::shared_of<dual_variable<V>>(std::move(value));
    (rules.pushforward(y->value(), *y), ...);
    return {home, std::move(y)};
  } else {
    return {home, home.record(std::move(value), detail::rules_of_entry<Rules...>{{std::move(rules)...}})};
  }
}
/// The same of an operation with several results, which are one entry of the tape: a tuple of traced values. A cotangent of what
/// nothing depends on is zero.
template <class... V, class Home, class... Rules>
std::tuple<traced<V, Home>...> record(Home& home, std::tuple<V...> values, Rules... rules) {
  if constexpr (!detail::require_rules<Rules...>()) {
    return record(home, std::move(values));
  } else if constexpr (std::same_as<Home, forward_mode>) {
    return std::apply(
        [&](auto... y) {
          detail::joint_tangent<V...> out(y...);
          (rules.pushforward(std::tuple<V const&...>(y->value()...), out), ...);
          return std::tuple<traced<V, Home>...>(traced<V, Home>(home, std::move(y))...);
        },
        std::apply([](V&... v) { return std::tuple(detail::shared_of<dual_variable<V>>(std::move(v))...); }, values));
  } else {
    auto const results = home.record(std::move(values), detail::rules_of_entry<Rules...>{{std::move(rules)...}});
    return std::apply([&](auto&... y) { return std::tuple<traced<V, Home>...>(traced<V, Home>(home, y)...); }, results);
  }
}

} // namespace sla
