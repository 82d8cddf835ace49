// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise operations and reductions of traced tensors and numbers, mixed with plain ones: evaluated at once, one entry of
// the tape each. The rules are in grad/tape/derivatives.hpp.
#pragma once

#include <compare>
#include <vector>

#include <sla/grad/tape/record.hpp>
#include <sla/grad/tape/vjp.hpp>

namespace sla {

namespace detail {
template <class X>
inline constexpr bool has_no_extents = std::same_as<typename X::extents_type, no_extents>;

template <class Op, class X>
auto evaluated(X const& x) {
  if constexpr (is_reducing<Op>)
    return eval(perform(Op{}, x));
  else if constexpr (has_no_extents<X>)
    return user_t<decltype(Op::apply(x.value))>(Op::apply(x.value));
  else
    return written(elementwise<Op>(x));
}
template <class Op, class L, class R>
auto evaluated(L const& l, R const& r) {
  if constexpr (is_reducing<Op>)
    return eval(perform(Op{}, l, r));
  else if constexpr (has_no_extents<L> && has_no_extents<R>)
    return user_t<decltype(Op::apply(l.value, r.value))>(Op::apply(l.value, r.value));
  else
    return written(elementwise<Op>(l, r, derivative<Op>::name));
}

/// The rule of an operation on two operands, to the K-th, which is x.
template <class Op, int K, class Operand, class L, class R>
auto elementwise_in(Operand const& x, L left, R right) {
  return pointwise_in(x, [left = std::move(left), right = std::move(right)](auto const&, auto const& g) {
    return contribution<Op, K>(left.node(), right.node(), as_node(g));
  });
}
template <class Op, class X>
auto trace(X const& x) {
  auto const v = operand_of(x);
  return record(x.home(), evaluated<Op>(v.node()), pointwise_in(v, [v](auto const& y, auto const& g) {
    if constexpr (is_reducing<Op>)
      return reduced_contribution<Op>(v.node(), y, g);
    else
      return contribution<Op, 0>(v.node(), as_node(g));
  }));
}

/// Is operand n read by a pullback to one of the traced operands?
template <class Op, int N, class L, class R>
inline constexpr bool is_read = (Traced<L> && derivative<Op>::reads(0, N)) || (Traced<R> && derivative<Op>::reads(1, N));

template <class Op, class L, class R>
auto trace(L&& l, R&& r) {
  auto& home = home_of(l, r);
  auto const left = trace_operand<is_read<Op, 0, L, R>>(home, std::forward<L>(l));
  auto const right = trace_operand<is_read<Op, 1, L, R>>(home, std::forward<R>(r));
  return record(home, evaluated<Op>(left.node(), right.node()), elementwise_in<Op, 0>(left, left.kept(), right.kept()),
                elementwise_in<Op, 1>(right, left.kept(), right.kept()));
}

template <class L, class R>
concept TracedPair = (TracedElements<L> || TracedElements<R>) && ElementsOrTraced<L> && ElementsOrTraced<R>;
/// Is there a traced operand, of any floor?
template <class L, class R>
concept AnyTraced = is_tracing<std::remove_cvref_t<L>> || is_tracing<std::remove_cvref_t<R>>;
template <class X>
concept NumberOrTraced = Number<plain_t<X>>;
template <class L, class R>
concept ComparablePair = AnyTraced<L, R> && NumberOrTraced<L> && NumberOrTraced<R>;
} // namespace detail

// ---- what is performed: higher floors add their own by `perform(op, traced<theirs>, ...)`

template <class Op, TracedElements X>
  requires(Differentiable<Op, 1> && (!is_reducing<Op> || is_tensor<plain_t<X>>))
auto perform(Op, X const& x) {
  return detail::trace<Op>(x);
}
template <class Op, class L, class R>
  requires(Differentiable<Op, 2> && detail::TracedPair<L, R>)
auto perform(Op, L&& l, R&& r) {
  return detail::trace<Op>(std::forward<L>(l), std::forward<R>(r));
}

// ---- elements: x[n], x(i, j), A(i, j)

template <Traced X, class... Index>
  requires(is_tensor<plain_t<X>> || is_sparse_tensor<plain_t<X>>)
auto perform(op::entry, X const& x, Index... at) {
  auto const& v = x.value();
  [[maybe_unused]] index_t const first[] = {at...};
  std::vector<index_t> places;
  if constexpr (is_sparse_tensor<plain_t<X>>)
    v.for_entry([&](index_t n) { places.push_back(n); }, at...);
  else if constexpr (sizeof...(at) == 1)
    places.push_back(index_t(&v[first[0]] - v.data()));
  else
    places.push_back(index_t(&v(at...) - v.data()));
  auto const read = [places](auto const& from) {
    typename plain_t<X>::value_type sum{};
    for (index_t n : places) sum += from.values()[n];
    return sum;
  };
  auto rule = linear_in(
      x,
      [places](auto const&, auto const& g) {
        return adds([&places, g](auto& sum) {
          for (index_t n : places) sum.values()[n] += g;
        });
      },
      [read](auto const&, auto const& d) { return read(d); });
  return record(x.home(), read(v), std::move(rule));
}

// ---- operators

template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::add, L, R>)
auto operator+(L&& l, R&& r) {
  return perform(op::add{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::sub, L, R>)
auto operator-(L&& l, R&& r) {
  return perform(op::sub{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::mul, L, R>)
auto operator*(L&& l, R&& r) {
  return perform(op::mul{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires(detail::AnyTraced<L, R> && Performs<op::div, L, R>)
auto operator/(L&& l, R&& r) {
  return perform(op::div{}, std::forward<L>(l), std::forward<R>(r));
}
template <Traced X>
  requires Performs<op::neg, X>
auto operator-(X const& x) {
  return perform(op::neg{}, x);
}
template <Traced X>
std::remove_cvref_t<X> operator+(X const& x) {
  return x;
}

/// x names the result then, as a variable of a loop wants it; the value it named before stays as it is.
template <class V, class Home, class X>
traced<V, Home>& operator+=(traced<V, Home>& x, X&& y) {
  return x = x + std::forward<X>(y);
}
template <class V, class Home, class X>
traced<V, Home>& operator-=(traced<V, Home>& x, X&& y) {
  return x = x - std::forward<X>(y);
}
template <class V, class Home, class X>
traced<V, Home>& operator*=(traced<V, Home>& x, X&& y) {
  return x = x * std::forward<X>(y);
}
template <class V, class Home, class X>
traced<V, Home>& operator/=(traced<V, Home>& x, X&& y) {
  return x = x / std::forward<X>(y);
}

/// Comparisons are of the values: a branch is taken as it is taken, and the gradient is that of the branch.
template <class L, class R>
  requires detail::ComparablePair<L, R>
bool operator==(L const& l, R const& r) {
  return detail::plain_value(l) == detail::plain_value(r);
}
template <class L, class R>
  requires detail::ComparablePair<L, R>
auto operator<=>(L const& l, R const& r) {
  return detail::plain_value(l) <=> detail::plain_value(r);
}

/// Refused: a statement writes into memory that the tape does not see.
template <class T, class E, class Memory, class X>
  requires is_tracing<std::remove_cvref_t<X>>
auto set(tensor<T, E, Memory>& y, X const&) {
  static_assert(always_false<X>, "sla: set(y, x) of a traced x: what a statement of fuse writes has no trace: in a differentiated function write auto y = eval(...)");
  return set(y, T(0));
}
template <Traced Y, class X>
auto set(Y const&, X const&) {
  static_assert(always_false<Y>, "sla: set(y, x) of a traced y: a traced value is not written into: in a differentiated function write auto y = eval(...)");
  static vector<double> nothing;
  return set(nothing, 0.0);
}

} // namespace sla
