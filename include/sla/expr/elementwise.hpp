// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element by element: comparisons, `where(x > 0.5, x, y)`, `maximum(x, 0.0)`, `minimum(x, y)`, and functions of one's own,
// `apply(f, x...)`. Arithmetic and named functions are in expr/ops.hpp; the largest element of all, max(x), is in expr/reduce.hpp.
#pragma once

#include <concepts>
#include <utility>

#include <sla/expr/ops.hpp>

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
/// An operation on two real operands, or its sentence.
template <class Op, class L, class R>
auto ordered(L&& l, R&& r, char const* name) {
  constexpr bool real = has_real_elements<L> && has_real_elements<R>;
  static_assert(real, "sla: maximum(x, y), minimum(x, y) and comparisons of complex numbers: they have no order; take abs(x) or real(x)");
  if constexpr (real)
    return elementwise<Op>(std::forward<L>(l), std::forward<R>(r), name);
  else
    return dense_operand(std::forward<L>(l), std::forward<R>(r));
}
} // namespace detail

template <class L, class R>
  requires ElementwisePair<L, R>
auto perform(op::larger, L&& l, R&& r) {
  return detail::ordered<op::larger>(std::forward<L>(l), std::forward<R>(r), "maximum(x, y)");
}
template <class L, class R>
  requires ElementwisePair<L, R>
auto perform(op::smaller, L&& l, R&& r) {
  return detail::ordered<op::smaller>(std::forward<L>(l), std::forward<R>(r), "minimum(x, y)");
}
template <class L, class R>
  requires ElementwisePair<L, R>
auto perform(op::less, L&& l, R&& r) {
  return detail::ordered<op::less>(std::forward<L>(l), std::forward<R>(r), "x < y");
}
template <class L, class R>
  requires ElementwisePair<L, R>
auto perform(op::less_equal, L&& l, R&& r) {
  return detail::ordered<op::less_equal>(std::forward<L>(l), std::forward<R>(r), "x <= y");
}
template <Tensorial C, Operand X, Operand Y>
auto perform(op::where, C&& c, X&& x, Y&& y) {
  return detail::applied_to(detail::by_op<op::where>{},
                            detail::joined_operands("where(c, x, y)", std::forward<C>(c), std::forward<X>(x), std::forward<Y>(y)));
}
template <class F, Operand... X>
  requires(Tensorial<X> || ...)
auto perform(op::apply, F const& f, X&&... x) {
  constexpr bool real = (detail::has_real_elements<X> && ...);
  constexpr bool callable = real && std::invocable<F const&, typename node_t<X>::value_type...>;
  constexpr bool number = callable && detail::gives_number<F, typename node_t<X>::value_type...>;
  static_assert(real, "sla: apply(f, x...): f is a function of real numbers; give it real(z) and imag(z)");
  static_assert(callable || !real, "sla: apply(f, x...): f takes one number of each operand: apply([](auto a, auto b) { return a * b; }, x, y)");
  static_assert(number || !callable, "sla: apply(f, x...): f returns a float or a double; for a condition write x > 0.5, or a > 0.5 ? 1.0 : 0.0 in f");
  auto operands = detail::joined_operands("apply(f, x...)", std::forward<X>(x)...);
  if constexpr (number)
    return detail::applied_to(f, std::move(operands));
  else
    return detail::applied_to([](auto const&...) { return 0.0; }, std::move(operands));  // well-formed, so that the sentence is the only error
}

/// 1 where x < y and 0 elsewhere, real tensors or a tensor and a number: for `where`, sum(x < y) counts, and products are "and".
/// Gradient: none; a comparison of traced tensors is of their values, and a constant.
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator<(L&& l, R&& r) {
  return perform(op::less{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator<=(L&& l, R&& r) {
  return perform(op::less_equal{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator>(L&& l, R&& r) {
  return perform(op::less{}, std::forward<R>(r), std::forward<L>(l));
}
template <class L, class R>
  requires ElementwisePair<L, R>
auto operator>=(L&& l, R&& r) {
  return perform(op::less_equal{}, std::forward<R>(r), std::forward<L>(l));
}

/// x where the condition is not 0, y elsewhere: `where(x > 0.5, x, 0.0)`. Both are evaluated everywhere; NaN of the other is dropped.
/// Law: equal extents, or numbers. Gradient: g where it was taken from, 0 elsewhere, though a derivative of the other be infinite there;
/// nothing to the condition.
template <class C, class X, class Y>
  requires Performs<op::where, C, X, Y>
auto where(C&& condition, X&& x, Y&& y) {
  return perform(op::where{}, std::forward<C>(condition), std::forward<X>(x), std::forward<Y>(y));
}
/// The larger and the smaller of two, element by element; NaN, if one of them is. The extreme element of one tensor is max(x), min(x).
/// Law: real; equal extents, or a number. Gradient: g to the operand that was taken, half of it to each where they are equal.
/// Placement: as of other nonlinear operations, for comparisons too (dist/choose.hpp); `where` and `apply` are of tensors of one rank.
template <class L, class R>
  requires Performs<op::larger, L, R>
auto maximum(L&& l, R&& r) {
  return perform(op::larger{}, std::forward<L>(l), std::forward<R>(r));
}
/// The smaller one of two elements; NaN, if one of them is.
template <class L, class R>
  requires Performs<op::smaller, L, R>
auto minimum(L&& l, R&& r) {
  return perform(op::smaller{}, std::forward<L>(l), std::forward<R>(r));
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
  requires(!(Number<X> && ...))
auto apply(F const& f, X&&... x) {
  return perform(op::apply{}, f, std::forward<X>(x)...);
}
template <class F, Number... X>
auto apply(F const& f, X... x) {
  return f(x...);
}

} // namespace sla
