// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons of distributed tensors, `maximum(x, y)`, `minimum(x, 0.0)`, `where(c, x, y)` and `apply(f, x, y)`, element by element: the
// laws are those of any nonlinear operation. Plain tensors are in expr/dense/elementwise.hpp.
#pragma once

#include <utility>

#include <sla/dist/value/scalars.hpp>

namespace sla {

namespace detail {
template <class Op>
concept Choice = is_one_of<Op, op::larger, op::smaller, op::less, op::less_equal>;
struct where_by {
  template <class... X>
  auto operator()(X&&... x) const {
    return where(std::forward<X>(x)...);
  }
};
template <class X>
concept DistributedOrUniform = DistributedExpr<X> || operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::uniform;
} // namespace detail
/// A distributed tensor with dimensions, or an expression of one. Comparisons of numbers are in dist/value/scalars.hpp.
template <class X>
concept DistributedTensorExpr = DistributedExpr<X> && !DistributedNumber<X>;
/// Two operands, one of them distributed, and one a tensor.
template <class L, class R>
concept DistributedTensorExprs = DistributedPair<L, R> && (DistributedTensorExpr<L> || DistributedTensorExpr<R>);
/// Operands of `where` and `apply`, one of them a distributed tensor.
template <class... X>
concept DistributedChoices = (DistributedTensorExpr<X> || ...) && ((DistributedOperand<X> || Number<X>) && ...);

namespace detail {
template <Choice Op, class L, class R>
  requires DistributedPair<L, R>
using choice_t = placed_map_t<Op, elementwise_by<Op>, L, R>;
template <class C, class X, class Y>
  requires DistributedChoices<C, X, Y>
using where_t = placed_map_t<op::where, where_by, C, X, Y>;
} // namespace detail

template <detail::Choice Op, class L, class R>
  requires DistributedPair<L, R>
auto perform(Op, L&& l, R&& r) -> detail::choice_t<Op, L, R> {
  return detail::distributed_elementwise<Op>(std::forward<L>(l), std::forward<R>(r), "maximum, minimum or a comparison");
}

/// As of plain tensors, beside a number that is written in the program; a run-time number is uniform(s).
template <DistributedExpr X>
auto maximum(X&& x, detail::number_beside<X> s) {
  return perform(op::larger{}, std::forward<X>(x), s);
}
template <DistributedExpr X>
auto minimum(X&& x, detail::number_beside<X> s) {
  return perform(op::smaller{}, std::forward<X>(x), s);
}

// As of plain tensors. Law: equal placements, layouts and extents; a distributed number goes with any tensor that its placement goes with.
// Numbers beside `where` are written in the program; those of `apply` are uniform(s), or captured by f.
template <class C, class X, class Y>
  requires(DistributedChoices<C, X, Y> && !Number<X> && !Number<Y>)
auto perform(op::where, C&& c, X&& x, Y&& y) -> detail::where_t<C, X, Y> {
  return detail::placed_map<op::where>(detail::where_by{}, std::forward<C>(c), std::forward<X>(x), std::forward<Y>(y));
}
template <DistributedTensorExpr C, detail::DistributedOrUniform X>
auto where(C&& c, X&& x, detail::number_beside<X> s) {
  return perform(op::where{}, std::forward<C>(c), std::forward<X>(x), s);
}
template <DistributedTensorExpr C, detail::DistributedOrUniform Y>
auto where(C&& c, detail::number_beside<Y> s, Y&& y) {
  return perform(op::where{}, std::forward<C>(c), s, std::forward<Y>(y));
}
template <DistributedTensorExpr C>
auto where(C&& c, detail::number_beside<C> s, detail::number_beside<C> t) {
  return perform(op::where{}, std::forward<C>(c), s, t);
}
template <class F, class... X>
  requires DistributedChoices<X...>
auto perform(op::apply, F const& f, X&&... x) {
  if constexpr (well_typed<op::apply, std::remove_cvref_t<X>...>) {
    return detail::placed_map<op::apply>([&f](auto&&... local) { return apply(f, std::move(local)...); }, std::forward<X>(x)...);
  } else {
    require_well_typed<op::apply, std::remove_cvref_t<X>...>();
    return eval(detail::stand_in(x...));  // well-formed, so that the sentence is the only error
  }
}

namespace detail {
template <class L, class R>
concept RefusedEquality = (DistributedTensorExpr<L> && DistributedTensorExpr<R>) || (PlacedSparse<L> && PlacedSparse<R>);
template <class L, class R>
  requires DistributedTensorExprs<L, R>
struct has_order<L, R> : std::true_type {};
template <DistributedTensorExpr X>
struct has_order_with_numbers<X> : std::true_type {};
} // namespace detail

/// Tensors compared, element by element: a condition.
template <op::relation Is, class L, class R>
  requires DistributedTensorExprs<L, R>
auto perform(op::comparison<Is>, L&& l, R&& r) {
  using enum op::relation;
  if constexpr (Is == greater)
    return perform(op::less{}, std::forward<R>(r), std::forward<L>(l));
  else if constexpr (Is == greater_equal)
    return perform(op::less_equal{}, std::forward<R>(r), std::forward<L>(l));
  else
    return perform(std::conditional_t<Is == less, op::less, op::less_equal>{}, std::forward<L>(l), std::forward<R>(r));
}

template <class L, class R>
  requires detail::RefusedEquality<L, R>
bool operator==(L const&, R const&) {
  static_assert(always_false<L>, "sla: x == y of distributed tensors: rounding decides; norm(x - y) <= tolerance compares vectors, and norm(gather(D) - gather(E)) matrices");
  return false;
}

// ---- refused: each sends, which has a name on ranks

namespace detail {
template <class X>
double refuse_answer() {
  static_assert(always_false<X>, "sla: any(c), all(c), count_nonzero(c), mean(x) on ranks: they send, which is said: the number of places where c holds is "
                                 "all_reduce<\"rows\">(sum(where(c, 1.0, 0.0))).value(), and the mean all_reduce<\"rows\">(sum(x)).value() / n");
  return 0;
}
} // namespace detail
template <DistributedExpr C>
bool any(C const&) {
  return detail::refuse_answer<C>() > 0;
}
template <DistributedExpr C>
bool all(C const&) {
  return detail::refuse_answer<C>() > 0;
}
template <DistributedExpr C>
index_t count_nonzero(C const&) {
  return index_t(detail::refuse_answer<C>());
}
template <DistributedExpr X>
double mean(X const&) {
  return detail::refuse_answer<X>();
}

} // namespace sla
