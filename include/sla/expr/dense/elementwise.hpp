// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element by element: comparisons, `where(x > 0.5, x, y)`, `maximum(x, 0.0)`, `minimum(x, y)`, and functions of one's own,
// `apply(f, x...)`. Arithmetic and named functions are in expr/dense/ops.hpp; the largest element of all, max(x), is in expr/dense/reduce.hpp.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <sla/expr/dense/ops.hpp>

namespace sla {

namespace detail {
/// Two operands side by side.
template <class L, class R>
struct couple {
  L l;
  R r;
};
struct join {
  template <class L, class R>
  SLA_HD static constexpr couple<L, R> apply(L l, R r) {
    return {l, r};
  }
};
/// f of the elements that couples hold, from left to right.
struct call_parts {
  template <class F, class A, class... Rest>
  SLA_HD constexpr auto operator()(F const& f, A a, Rest... rest) const {
    return f(a, rest...);
  }
  template <class F, class L, class R, class... Rest>
  SLA_HD constexpr auto operator()(F const& f, couple<L, R> c, Rest... rest) const {
    return (*this)(f, c.l, c.r, rest...);
  }
};
template <class Op>
struct by_op {
  template <class... A>
  SLA_HD constexpr auto operator()(A... a) const {
    return Op::apply(a...);
  }
};
} // namespace detail

/// f(x) for each element, where f is an object; operands of f are joined to one.
template <class F, class X>
struct applied {
  using expression_tag = void;
  using value_type = decltype(detail::call_parts{}(std::declval<F const&>(), std::declval<typename X::value_type>()));
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = X::depth;

  F f;
  X x;

  SLA_HD auto extents() const { return x.extents(); }
  SLA_HD value_type at(element e) const { return detail::call_parts{}(f, x.at(e)); }
  template <class G>
  auto rebuild(G const& g) const {
    return applied<F, decltype(g(x))>{f, g(x)};
  }
  template <class G>
  void accesses(G&& g, bool elsewhere) const {
    x.accesses(g, elsewhere);
  }
};

namespace detail {
/// Operands joined to one, their laws checked.
template <class X>
auto joined_operands(char const*, X&& x) {
  return as_node(std::forward<X>(x));
}
template <class L, class R, class... Rest>
auto joined_operands(char const* name, L&& l, R&& r, Rest&&... rest) {
  return joined_operands(name, elementwise<join>(std::forward<L>(l), std::forward<R>(r), name), std::forward<Rest>(rest)...);
}
template <class F, class X>
applied<F, X> applied_to(F f, X x) {
  return {std::move(f), std::move(x)};
}

template <class F, class... A>
inline constexpr bool gives_number = false;
template <class F, class... A>
  requires std::invocable<F const&, A...>
inline constexpr bool gives_number<F, A...> = std::floating_point<std::remove_cvref_t<std::invoke_result_t<F const&, A...>>>;
template <class X>
inline constexpr bool has_real_elements = !is_complex<typename node_t<X>::value_type>;
template <class Op>
inline constexpr bool wants_order = std::same_as<Op, op::larger> || std::same_as<Op, op::smaller> || std::same_as<Op, op::less> || std::same_as<Op, op::less_equal>;

/// Is X a condition: a comparison, or what &&, || and ! make of them?
template <class X>
inline constexpr bool is_condition = false;
template <class Op, class X>
inline constexpr bool is_condition<unary<Op, X>> = std::derived_from<Op, op::condition>;
template <class Op, class L, class R>
inline constexpr bool is_condition<binary<Op, L, R>> = std::derived_from<Op, op::condition>;

/// What a refused call returns where no operand will do, so that its sentence is the only error.
struct refused {
  template <class T>
  operator T() const;
};
/// Sparse tensors and views of them, of any floor: expr/sparse/values.hpp and higher floors say which.
template <class X>
inline constexpr bool is_sparse_like = false;
template <class... X>
concept SomeSparse = (is_sparse_like<std::remove_cvref_t<X>> || ...);
template <class X, class... Rest>
auto some_tensor(X const& x, Rest const&... rest) {
  if constexpr (Tensorial<X const&>)
    return as_node(x);
  else if constexpr (SomeSparse<X>)
    return x;
  else if constexpr (sizeof...(Rest) > 0)
    return some_tensor(rest...);
  else
    return refused{};
}

/// maximum, minimum and comparisons; of other operands what is performed on them.
template <class Op, class L, class R>
auto ordered(L&& l, R&& r) {
  if constexpr (!ElementwisePair<L, R>) {
    return perform(Op{}, std::forward<L>(l), std::forward<R>(r));
  } else {
    constexpr bool real = has_real_elements<L> && has_real_elements<R>;
    static_assert(real, "sla: maximum(x, y), minimum(x, y) and comparisons of complex numbers: they have no order; take abs(x) or real(x)");
    if constexpr (real)
      return elementwise<Op>(std::forward<L>(l), std::forward<R>(r), Op::name);
    else
      return dense_operand(std::forward<L>(l), std::forward<R>(r));
  }
}
/// Are the operands of `where` of this room?
template <class C, class X, class Y>
concept PlainChoice = Tensorial<C> && Operand<X> && Operand<Y>;
template <class C, class X, class Y>
auto chosen_by(C&& c, X&& x, Y&& y) {
  return applied_to(by_op<op::where>{}, joined_operands("where(c, x, y)", std::forward<C>(c), std::forward<X>(x), std::forward<Y>(y)));
}
} // namespace detail

template <class Op, class L, class R>
  requires(detail::wants_order<Op> && ElementwisePair<L, R>)
auto perform(Op, L&& l, R&& r) {
  return detail::ordered<Op>(std::forward<L>(l), std::forward<R>(r));
}
template <class C, class X, class Y>
  requires detail::PlainChoice<C, X, Y>
auto perform(op::where, C&& c, X&& x, Y&& y) {
  return detail::chosen_by(std::forward<C>(c), std::forward<X>(x), std::forward<Y>(y));
}
namespace detail {
template <class... X>
concept PlainOperands = (Operand<X> && ...) && (Tensorial<X> || ...);

template <class F, class... X>
auto each_applied(F const& f, X&&... x) {
  constexpr bool real = (has_real_elements<X> && ...);
  constexpr bool callable = real && std::invocable<F const&, typename node_t<X>::value_type...>;
  constexpr bool number = callable && gives_number<F, typename node_t<X>::value_type...>;
  static_assert(real, "sla: apply(f, x...): f is a function of real numbers; give it real(z) and imag(z)");
  static_assert(callable || !real, "sla: apply(f, x...): f takes one number of each operand: apply([](auto a, auto b) { return a * b; }, x, y)");
  static_assert(number || !callable, "sla: apply(f, x...): f returns a float or a double; for a condition write x > 0.5, or a > 0.5 ? 1.0 : 0.0 in f");
  constexpr bool copied = number && std::is_trivially_copyable_v<F>;
  static_assert(copied || !number, "sla: apply(f, x...): f is copied as it lies in memory: a lambda that captures numbers, pointers or references, no std::function and no container by value");
  auto operands = joined_operands("apply(f, x...)", std::forward<X>(x)...);
  if constexpr (copied)
    return applied_to(f, std::move(operands));
  else
    return applied_to([](auto const&...) { return 0.0; }, std::move(operands));  // well-formed, so that the sentence is the only error
}
} // namespace detail

template <class F, class... X>
  requires detail::PlainOperands<X...>
auto perform(op::apply, F const& f, X&&... x) {
  return detail::each_applied(f, std::forward<X>(x)...);
}
/// Refused: operands of no floor.
template <class F, class... X>
auto perform(op::apply, F const& f, X&&... x) {
  constexpr bool sparse = detail::SomeSparse<X...>;
  static_assert(!sparse, "sla: apply(f, A) of a sparse tensor: f of what is not stored need not be 0; of the stored values, say with_values(A, apply(f, values(A)))");
  static_assert(sparse, "sla: apply(f, x...): first the function, then tensors and numbers: apply([](auto a) { return a * a; }, x). An array of another "
                        "library comes over by borrow(x.data(), n), of Eigen by from_eigen(x)");
  return detail::some_tensor(f, x...);
}

/// 1 where x < y and 0 elsewhere, real tensors or a tensor and a number: for `where`, and for any, all, &&, || and ! (expr/dense/conditions.hpp).
/// Gradient: none; a comparison of traced tensors is of their values, and a constant.
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator<(L&& l, R&& r) {
  return detail::ordered<op::less>(std::forward<L>(l), std::forward<R>(r));
}
template <Viewed L, Viewed R>
auto operator<(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::ordered<op::less>(l, r); }
template <Viewed L, ByValue R>
auto operator<(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::ordered<op::less>(l, std::move(r)); }
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator<=(L&& l, R&& r) {
  return detail::ordered<op::less_equal>(std::forward<L>(l), std::forward<R>(r));
}
template <Viewed L, Viewed R>
auto operator<=(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::ordered<op::less_equal>(l, r); }
template <Viewed L, ByValue R>
auto operator<=(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::ordered<op::less_equal>(l, std::move(r)); }
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator>(L&& l, R&& r) {
  return detail::ordered<op::less>(std::forward<R>(r), std::forward<L>(l));
}
template <Viewed L, Viewed R>
auto operator>(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::ordered<op::less>(r, l); }
template <Viewed L, ByValue R>
auto operator>(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::ordered<op::less>(std::move(r), l); }
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator>=(L&& l, R&& r) {
  return detail::ordered<op::less_equal>(std::forward<R>(r), std::forward<L>(l));
}
template <Viewed L, Viewed R>
auto operator>=(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::ordered<op::less_equal>(r, l); }
template <Viewed L, ByValue R>
auto operator>=(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::ordered<op::less_equal>(std::move(r), l); }

/// x where the condition is not 0, y elsewhere: `where(x > 0.5, x, 0.0)`. Both are evaluated everywhere; NaN of the other is dropped.
/// Law: equal extents, or numbers. Gradient: g where it was taken from, 0 elsewhere, though a derivative of the other be infinite there;
/// nothing to the condition.
template <class C, class X, class Y>
  requires(detail::PlainChoice<C, X, Y> || Performs<op::where, C, X, Y>)
auto where(C&& condition, X&& x, Y&& y) {
  constexpr bool first = detail::is_condition<std::remove_cvref_t<C>> ||
                         detail::is_condition<std::remove_cvref_t<X>> == detail::is_condition<std::remove_cvref_t<Y>>;
  static_assert(first, "sla: where(condition, x, y): the condition comes first: where(x > 0.5, x, y); of numbers that are a mask, where(mask > 0.5, x, y)");
  if constexpr (detail::PlainChoice<C, X, Y>)
    return detail::chosen_by(std::forward<C>(condition), std::forward<X>(x), std::forward<Y>(y));
  else
    return perform(op::where{}, std::forward<C>(condition), std::forward<X>(x), std::forward<Y>(y));
}
/// Refused: one of three is missing.
template <class C, class X>
  requires(Tensorial<C> || Tensorial<X>)
auto where(C&& condition, X&& x) {
  static_assert(always_false<C>, "sla: where(condition, x, y): it takes x where the condition holds, and y elsewhere: where(x > 0.5, x, 0.0)");
  return detail::dense_operand(std::forward<C>(condition), std::forward<X>(x));
}
/// The larger and the smaller of two, element by element; NaN, if one of them is. The extreme element of one tensor is max(x), min(x).
/// Law: real; equal extents, or a number. Gradient: g to the operand that was taken, half of it to each where they are equal.
/// Placement: as of other nonlinear operations, and so for comparisons, `where` and `apply` (dist/value/compare.hpp).
template <class L, class R>
  requires(ElementwisePair<L, R> || Performs<op::larger, L, R>)
auto maximum(L&& l, R&& r) {
  return detail::ordered<op::larger>(std::forward<L>(l), std::forward<R>(r));
}
/// The smaller one of two elements; NaN, if one of them is.
template <class L, class R>
  requires(ElementwisePair<L, R> || Performs<op::smaller, L, R>)
auto minimum(L&& l, R&& r) {
  return detail::ordered<op::smaller>(std::forward<L>(l), std::forward<R>(r));
}
/// Every element within bounds, numbers or tensors: minimum(maximum(x, lo), hi); hi, where lo > hi; NaN stays.
/// Gradient: g within the bounds, half of it at one of them, and to a bound where it was taken.
template <class X, class L, class H>
  requires(!(Number<X> && Number<L> && Number<H>) && Performs<op::larger, X, L>)
auto clamp(X&& x, L&& lo, H&& hi) {
  return minimum(maximum(std::forward<X>(x), std::forward<L>(lo)), std::forward<H>(hi));
}
template <Number L, Number R>
auto maximum(L l, R r) {
  return op::larger::apply(l, r);
}
template <Number L, Number R>
auto minimum(L l, R r) {
  return op::smaller::apply(l, r);
}

/// f(x_i, y_i, ...) for each element, in one loop with what stands around it: `apply([](auto a) { return a / (1 + a * a); }, x)`.
/// f is copied, and called by several threads at once. Numbers among the operands are given to each call.
/// Law: real operands of equal extents, at least one a tensor; f returns a float or a double, and in kernels of a device is SLA_HD.
/// Gradient: that of f, by dual numbers (core/dual_number.hpp): f is a template of its arguments, and calls exp(a), not std::exp(a),
/// after a `using std::exp`.
template <class F, class... X>
  requires(sizeof...(X) > 1 && !(Number<X> && ...))
auto apply(F const& f, X&&... x) {
  if constexpr (detail::PlainOperands<X...>)
    return detail::each_applied(f, std::forward<X>(x)...);
  else
    return perform(op::apply{}, f, std::forward<X>(x)...);
}
/// Of one operand: the better match beside std::apply, which has its parameters, where both are visible.
template <class F, class X>
  requires(!Number<X> && !requires { std::tuple_size<std::remove_cvref_t<X>>::value; })
auto apply(F&& f, X&& x) {
  if constexpr (detail::PlainOperands<X>)
    return detail::each_applied(std::as_const(f), std::forward<X>(x));
  else
    return perform(op::apply{}, std::as_const(f), std::forward<X>(x));
}
template <class F, Number... X>
auto apply(F const& f, X... x) {
  return f(x...);
}

} // namespace sla
