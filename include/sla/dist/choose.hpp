// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons of distributed tensors, and `maximum(x, y)`, `minimum(x, 0.0)`, element by element: the laws are those of any nonlinear
// operation. Plain tensors are in expr/elementwise.hpp.
#pragma once

#include <utility>

#include <sla/dist/scalars.hpp>

namespace sla {

namespace detail {
template <class Op>
concept Choice = is_one_of<Op, op::larger, op::smaller, op::less, op::less_equal>;
template <class X>
using number_beside = std::type_identity_t<literal_beside<X>>;
} // namespace detail
/// A distributed tensor with dimensions, or an expression of one. Comparisons of numbers are in dist/scalars.hpp.
template <class X>
concept PlacedTensor = Placed<X> && !PlacedNumber<X>;
/// Two operands, one of them distributed, and one a tensor.
template <class L, class R>
concept PlacedTensors = PlacedPair<L, R> && (PlacedTensor<L> || PlacedTensor<R>);

template <detail::Choice Op, class L, class R>
  requires PlacedPair<L, R>
auto perform(Op, L&& l, R&& r) {
  return detail::placed_elementwise<Op>(std::forward<L>(l), std::forward<R>(r), "maximum, minimum or a comparison");
}

/// As of plain tensors, beside a number that is written in the program; a run-time number is uniform(s).
template <Placed X>
auto maximum(X&& x, detail::number_beside<X> s) {
  return perform(op::larger{}, std::forward<X>(x), s);
}
template <Placed X>
auto minimum(X&& x, detail::number_beside<X> s) {
  return perform(op::smaller{}, std::forward<X>(x), s);
}

template <class L, class R>
  requires PlacedTensors<L, R>
auto operator<(L&& l, R&& r) {
  return perform(op::less{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires PlacedTensors<L, R>
auto operator<=(L&& l, R&& r) {
  return perform(op::less_equal{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires PlacedTensors<L, R>
auto operator>(L&& l, R&& r) {
  return perform(op::less{}, std::forward<R>(r), std::forward<L>(l));
}
template <class L, class R>
  requires PlacedTensors<L, R>
auto operator>=(L&& l, R&& r) {
  return perform(op::less_equal{}, std::forward<R>(r), std::forward<L>(l));
}
template <PlacedTensor X>
auto operator<(X&& x, detail::number_beside<X> s) {
  return perform(op::less{}, std::forward<X>(x), s);
}
template <PlacedTensor X>
auto operator<=(X&& x, detail::number_beside<X> s) {
  return perform(op::less_equal{}, std::forward<X>(x), s);
}
template <PlacedTensor X>
auto operator>(X&& x, detail::number_beside<X> s) {
  return perform(op::less{}, s, std::forward<X>(x));
}
template <PlacedTensor X>
auto operator>=(X&& x, detail::number_beside<X> s) {
  return perform(op::less_equal{}, s, std::forward<X>(x));
}

} // namespace sla
