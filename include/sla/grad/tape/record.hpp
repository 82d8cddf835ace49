// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How an operation on traced values is recorded: its operands, and one rule per operand that serves reverse and forward mode.
// The rules of operations are in grad/operation/traced_elementwise.hpp, grad/operation/traced_product.hpp and grad/operation/traced_solve.hpp.
#pragma once

#include <memory>
#include <utility>

#include <sla/grad/tape/derivatives.hpp>
#include <sla/grad/tape/traced.hpp>

namespace sla {

namespace detail {
/// What may stand beside a traced operand of an elementwise operation.
template <class X>
concept ElementsOrTraced = TracedElements<X> || Operand<X>;

/// The home of the first traced operand: a tape, or forward mode.
template <class X, class... Rest>
auto& home_of(X const& x, Rest const&... rest) {
  if constexpr (is_tracing<X>)
    return x.home();
  else
    return home_of(rest...);
}

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
      return kept_operand<P>{std::make_shared<P const>(std::move(x))};
  } else {
    auto value = eval(std::forward<X>(x));
    return kept_operand<decltype(value)>{std::make_shared<decltype(value) const>(std::move(value))};
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
/// Of an operand without a trace.
struct no_rule {
  using rule_tag = void;
  template <class Y, class G>
  void pullback(Y const&, G const&) const {}
  template <class Y, class Out>
  void pushforward(Y const&, Out&) const {}
};
template <class Operand, class Pullback, class Pushforward>
auto linear_in([[maybe_unused]] Operand const& x, Pullback pullback, Pushforward pushforward) {
  if constexpr (Traced<Operand>)
    return linear_rule<typename Operand::variable_type, Pullback, Pushforward>{&x.variable(), std::move(pullback), std::move(pushforward)};
  else if constexpr (Operand::traced)
    return linear_rule<std::remove_pointer_t<decltype(x.v)>, Pullback, Pushforward>{x.v, std::move(pullback), std::move(pushforward)};
  else
    return no_rule{};
}
/// The contribution that is the cotangent, or the tangent, itself.
inline constexpr auto unchanged = [](auto const&, auto const& d) -> auto const& { return d; };

/// Re conj(a) b, 0 where one of them is 0, though the other be infinite, as derivatives may be.
struct real_pairing {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return real_of(times(conj_of(b == B{} ? A{} : a), a == A{} ? B{} : b));
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
template <class Operand, class Contribution>
auto pointwise_in([[maybe_unused]] Operand const& x, Contribution contribution) {
  if constexpr (Operand::traced)
    return pointwise_rule<Operand, Contribution>{x, std::move(contribution)};
  else
    return no_rule{};
}

template <class... Rules>
inline constexpr bool serve_both_modes = (requires { typename Rules::rule_tag; } && ...);

/// The traced value of an operation, from its value and one rule per operand. On a tape the rules wait for the sweep, in forward
/// mode they run at once.
template <class V, class Home, class... Rules>
traced<V, Home> record(Home& home, V value, Rules... rules) {
  static_assert(serve_both_modes<Rules...>,
                "sla: record(home, y, rules...): a rule serves both modes: linear_in(x, pullback, pushforward) or pointwise_in(x, contribution), or "
                "a struct with a rule_tag, pullback(y, g) and pushforward(y, out)");
  if constexpr (!serve_both_modes<Rules...>) {
    return record(home, std::move(value));  // well-formed, so that the sentence is the only error
  } else if constexpr (std::same_as<Home, forward_mode>) {
    auto y = std::make_shared<dual_variable<V>>(std::move(value));
    (rules.pushforward(y->value(), *y), ...);
    return {home, std::move(y)};
  } else {
    return {home, home.record(std::move(value), [... rules = std::move(rules)](auto const& y, auto const& g) { (rules.pullback(y, g), ...); })};
  }
}
} // namespace detail

} // namespace sla
