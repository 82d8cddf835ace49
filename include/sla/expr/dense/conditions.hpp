// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions, which are 1 where something holds and 0 elsewhere: `c && d`, `c || d`, `!c`, and their one answer: `any(c)`, `all(c)`,
// `count_nonzero(c)`. Comparisons, which make them, and `where(c, x, y)` are in expr/dense/elementwise.hpp.
#pragma once

#include <sla/expr/dense/elementwise.hpp>
#include <sla/expr/dense/reduce.hpp>

namespace sla {

/// Where both hold: (x > 0) && (x < 1). Any tensor is a condition, which holds where it is not 0. Law: equal extents.
/// Unlike && of two bools, both sides are evaluated.
template <Tensorial L, Tensorial R>
auto operator&&(L&& l, R&& r) {
  return detail::elementwise<op::logical_and>(std::forward<L>(l), std::forward<R>(r), "x && y");
}
/// Where one of them holds, or both; both sides are evaluated.
template <Tensorial L, Tensorial R>
auto operator||(L&& l, R&& r) {
  return detail::elementwise<op::logical_or>(std::forward<L>(l), std::forward<R>(r), "x || y");
}
/// Where the condition does not hold.
template <Tensorial X>
auto operator!(X&& x) {
  return detail::elementwise<op::logical_not>(std::forward<X>(x));
}

/// Refused: in C++, & and | bind closer than comparisons do.
template <Tensorial L, Tensorial R>
auto operator&(L&& l, R&& r) {
  static_assert(always_false<L>, "sla: c & d: conditions are joined by && : (x > 0.5) && (x < 2.0)");
  return std::forward<L>(l) && std::forward<R>(r);
}
template <Tensorial L, Tensorial R>
auto operator|(L&& l, R&& r) {
  static_assert(always_false<L>, "sla: c | d: conditions are joined by || : (x < 0.5) || (x > 2.0)");
  return std::forward<L>(l) || std::forward<R>(r);
}

/// Of how many elements does the condition hold? `count_nonzero(x > 0.5)`. Cost: reads all elements, as any and all do.
template <Tensorial C>
[[nodiscard]] index_t count_nonzero(C&& condition) {
  return index_t(double(sum(detail::elementwise<op::holds>(std::forward<C>(condition)))));
}
/// Does the condition hold anywhere? `if (any(x < 0.0))`; of no elements, no. A comparison with NaN does not hold.
/// Gradient: none: of traced tensors it is of the values, and the gradient that of the branch that is taken.
template <Tensorial C>
[[nodiscard]] bool any(C&& condition) {
  return count_nonzero(std::forward<C>(condition)) > 0;
}
/// Does the condition hold everywhere? Of no elements, yes.
template <Tensorial C>
[[nodiscard]] bool all(C&& condition) {
  return count_nonzero(!std::forward<C>(condition)) == 0;
}

} // namespace sla
