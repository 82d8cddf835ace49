// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traced operands of `where`, of comparisons, and of functions of the user's own, `apply(f, x...)`, whose derivatives are taken by dual
// numbers. Those of maximum and minimum are rules as of arithmetic (grad/tape/derivatives.hpp).
#pragma once

#include <sla/core/dual_number.hpp>
#include <sla/grad/operation/traced_elementwise.hpp>

namespace sla {

namespace detail {
template <class... X>
concept SomeTracedElements = (TracedElements<X> || ...) && (ElementsOrTraced<X> && ...);
template <class X>
concept TensorOrTraced = Tensorial<X> || (TracedElements<X> && is_tensor<plain_t<X>>);

/// The elements of operands and cotangents of one rank; those of many ranks are in dist/value/expression_gradient.hpp.
struct all_elements {
  template <class Operand>
  static auto node(Operand const& x) {
    return x.node();
  }
  template <class G>
  static auto of(G const& g) {
    return as_node(g);
  }
};
/// The value of a node: a tensor, or a number of numbers.
template <class Node>
auto value_of_node(Node const& node) {
  if constexpr (has_no_extents<Node>)
    return user_t<typename Node::value_type>(node.at(element{}));
  else
    return written(node);
}
} // namespace detail

// ---- comparisons, of the values: evaluated, and conditions still

template <class Op, class L, class R>
  requires((std::same_as<Op, op::less> || std::same_as<Op, op::less_equal>) && detail::TracedPair<L, R> &&
           (detail::TensorOrTraced<L> || detail::TensorOrTraced<R>))
auto perform(Op op, L const& l, R const& r) {
  return detail::elementwise<op::holds>(detail::written(perform(op, detail::plain_value(l), detail::plain_value(r))));
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::less, L, R>)
auto operator<(L&& l, R&& r) {
  return perform(op::less{}, l, r);
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::less_equal, L, R>)
auto operator<=(L&& l, R&& r) {
  return perform(op::less_equal{}, l, r);
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::less, R, L>)
auto operator>(L&& l, R&& r) {
  return perform(op::less{}, r, l);
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::less_equal, R, L>)
auto operator>=(L&& l, R&& r) {
  return perform(op::less_equal{}, r, l);
}

// ---- where

namespace detail {
template <class Elements, class Home, class Value, class C, class X, class Y>
auto trace_where(Home& home, Value value, C const& condition, X const& left, Y const& right) {
  auto to_left = pointwise_in(left, [condition](auto const&, auto const& g) { return where(Elements::node(condition), Elements::of(g), 0); });
  auto to_right = pointwise_in(right, [condition](auto const&, auto const& g) { return where(Elements::node(condition), 0, Elements::of(g)); });
  return record(home, std::move(value), std::move(to_left), std::move(to_right));
}
} // namespace detail

template <detail::TensorOrTraced C, class X, class Y>
  requires(detail::SomeTracedElements<X, Y> || (TracedElements<C> && Operand<X> && Operand<Y>))
auto perform(op::where, C&& c, X&& x, Y&& y) {
  if constexpr (Traced<C>) {  // nothing of the derivative flows through a condition
    return perform(op::where{}, c.value(), std::forward<X>(x), std::forward<Y>(y));
  } else {
    auto& home = home_of(x, y);
    auto const condition = detail::trace_operand<true>(home, std::forward<C>(c));
    auto const left = detail::trace_operand<false>(home, std::forward<X>(x));
    auto const right = detail::trace_operand<false>(home, std::forward<Y>(y));
    return detail::trace_where<detail::all_elements>(home, detail::written(where(condition.node(), left.node(), right.node())), condition, left, right);
  }
}
/// The cotangents of x and y where z = where(c, x, y).
template <Tensorial C, Operand X, Operand Y, Operand G>
auto vjp(op::where, C const& c, X const& x, Y const& y, G const& g) {
  auto const& condition = detail::argument(c);
  return std::tuple{detail::collected(detail::argument(x), where(condition, as_node(g), 0)),
                    detail::collected(detail::argument(y), where(condition, 0, as_node(g)))};
}

// ---- functions of the user's own

namespace detail {
template <class T>
SLA_HD constexpr T slope_of(dual_number<T> const& y) {
  return y.slope[0];
}
template <class T>
  requires std::is_arithmetic_v<T>
SLA_HD constexpr T slope_of(T) {  // f is constant
  return T(0);
}
/// The derivative of f with respect to its K-th argument.
template <class F, int K>
struct partial {
  F f;
  template <class... A>
  SLA_HD auto operator()(A... a) const {
    using T = decltype((promote_t<A, float>{} + ...));
    return T(at<T>(std::make_integer_sequence<int, int(sizeof...(A))>{}, a...));
  }

private:
  template <class T, int... N, class... A>
  SLA_HD auto at(std::integer_sequence<int, N...>, A... a) const {
    using D = dual_number<T>;
    return slope_of(f((N == K ? D::variable(T(a)) : D(T(a)))...));
  }
};

template <class X, class... Rest>
auto const& first_traced(X const& x, Rest const&... rest) {
  if constexpr (Traced<X>)
    return x;
  else
    return first_traced(rest...);
}
template <class>
using dual_for = dual_number<double>;

/// The nodes of operands, joined.
template <class Elements, class... X>
auto joined_elements(X const&... x) {
  return joined_operands("apply(f, x...)", Elements::node(x)...);
}
/// f of traced operands, and the rule of each of them.
template <class Elements, class F, class Home, class Value, class... X, std::size_t... K>
auto trace_apply(Home& home, Value value, F const& f, std::index_sequence<K...>, X const&... x) {
  auto const rule = [&]<std::size_t N>(std::integral_constant<std::size_t, N>, auto const& operand) {
    return pointwise_in(operand, [f, ... kept = x.kept()](auto const&, auto const& g) {
      return elementwise<slope_times>(applied_to(partial<F, int(N)>{f}, joined_elements<Elements>(kept...)), Elements::of(g), "apply(f, x...)");
    });
  };
  return record(home, std::move(value), rule(std::integral_constant<std::size_t, K>{}, x)...);
}

/// Is f a function of dual numbers?
template <class F, class... X>
inline constexpr bool takes_dual_numbers = requires(F const& f, dual_for<X>... a) { f(a...); };
} // namespace detail

template <class F, class... X>
  requires detail::SomeTracedElements<X...>
auto perform(op::apply, F const& f, X&&... x) {
  static_assert(detail::takes_dual_numbers<F, X...>, "sla: apply(f, x...) of traced x: f is called with dual numbers: write it with auto, [](auto a) { return a * exp(-a); }, "
                                                     "and exp(a) after `using std::exp` rather than std::exp(a)");
  auto& home = home_of(x...);
  if constexpr (detail::takes_dual_numbers<F, X...>)
    return [&](auto const&... operand) {
      auto value = detail::value_of_node(detail::applied_to(f, detail::joined_elements<detail::all_elements>(operand...)));
      return detail::trace_apply<detail::all_elements>(home, std::move(value), f, std::index_sequence_for<X...>{}, operand...);
    }(detail::trace_operand<true>(home, std::forward<X>(x))...);
  else
    return eval(detail::first_traced(x...));  // well-formed, so that the sentence is the only error
}

} // namespace sla
