// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `vjp(op, operands..., g)`: the cotangents of the operands of one operation from the cotangent g of its result, without a
// tape. Here of elementwise operations and reductions; of products in grad/operation/traced_product.hpp, of solves in grad/operation/traced_solve.hpp.
#pragma once

#include <tuple>

#include <sla/grad/tape/cotangent.hpp>
#include <sla/grad/tape/derivatives.hpp>

namespace sla {

namespace detail {
inline constexpr auto all_are_here = [](auto ties) { return ties; };
/// What a reduction of x, whose value is y, hands to each element in the place of g. Extreme elements share g equally: `everywhere`
/// says from how many are here how many there are.
template <class Op, class X, class Y, class G, class Everywhere>
auto element_cotangent([[maybe_unused]] X const& x, [[maybe_unused]] Y const& y, G const& g, [[maybe_unused]] Everywhere const& everywhere) {
  if constexpr (std::same_as<Op, op::norm>)
    return y == 0 ? decltype(g / y){} : g / y;
  else if constexpr (is_extreme<Op>) {
    using Mask = binary<is_extremum, X, constant<Y>>;
    auto const ties = everywhere(sla::sum(Mask{x, {y}}));
    return y == y ? (ties > 0 ? g / ties : decltype(g / ties){}) : decltype(g / ties)(g * y);  // NaN is equal to no element, and the extreme of all
  } else {
    return g;
  }
}

/// The elements whose value is extreme, as norm_inf sees them: by modulus.
template <class Op, class X>
auto compared(X const& x) {
  if constexpr (std::same_as<Op, op::norm_inf>)
    return unary<op::widen_abs, X>{x};
  else if constexpr (is_extreme<Op>)
    return unary<op::widen, X>{x};
  else
    return x;
}

/// The contribution of a reduction of one operand with value y, as an expression.
template <class Op, class X, class Y, class G, class Everywhere = decltype(all_are_here)>
auto reduced_contribution(X const& x, Y const& y, G const& g, Everywhere const& everywhere = all_are_here) {
  auto const key = compared<Op>(x);
  auto const each = as_node(element_cotangent<Op>(key, y, g, everywhere));
  auto node = contribution<Op, 0>(x, each);
  if constexpr (is_extreme<Op>) {
    using Mask = binary<is_extremum, std::remove_const_t<decltype(key)>, constant<Y>>;
    return binary<op::mul, Mask, decltype(node)>{Mask{key, {y}}, node};
  } else {
    return node;
  }
}
} // namespace detail

/// The cotangent of x where y = Op(x), elementwise or a reduction; in the type of x, evaluated.
template <class Op, Operand X, Operand G>
  requires Differentiable<Op, 1>
auto vjp(Op, X const& x, G const& g) {
  auto const& value = detail::argument(x);
  if constexpr (is_reducing<Op>) {
    auto const y = eval(perform(Op{}, value));
    return std::tuple{detail::collected(value, detail::reduced_contribution<Op>(as_node(value), y, g))};
  } else {
    return std::tuple{detail::collected(value, detail::contribution<Op, 0>(as_node(value), as_node(g)))};
  }
}
/// The cotangents of l and r where y = Op(l, r): a tuple.
template <class Op, Operand L, Operand R, Operand G>
  requires Differentiable<Op, 2>
auto vjp(Op, L const& l, R const& r, G const& g) {
  auto const& left = detail::argument(l);
  auto const& right = detail::argument(r);
  return std::tuple{detail::collected(left, detail::contribution<Op, 0>(as_node(left), as_node(right), as_node(g))),
                    detail::collected(right, detail::contribution<Op, 1>(as_node(left), as_node(right), as_node(g)))};
}

} // namespace sla
