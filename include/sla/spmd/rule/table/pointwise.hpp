// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of entry-by-entry operations: every dimension splits, and the algebra of the function decides which
// pending reductions pass. Products with contraction are in einsum.hpp, operations along a dimension in reduce.hpp.
#pragma once
#include <cstdint>

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::strategies {

/// Entry by entry over operands aligned at their last dimensions; nothing is known of the function.
template <class... D>
constexpr strategy pointwise(D const&... operands) {
  return detail::indexed(detail::broadcast(operands...), monoid::none);
}

/// a + b, and a - b; `sign` of a literal factor of b: a + alpha * b. Law: a pending sum meets pending sums only; an
/// average, a maximum or a minimum may meet what every rank has.
template <class = void>
constexpr strategy add(dims const& a, dims const& b, int sign = 1) {
  auto s = pointwise(a, b);
  s.linear_in(operand_bits(0, 1)).rising_in(0);
  return sign < 0 ? s.falling_in(1) : s.rising_in(1);
}
/// a - b: rises in a and falls in b.
template <class = void>
constexpr strategy sub(dims const& a, dims const& b) { return add(a, b, -1); }

/// a * b: linear in each; products pass as products.
template <class = void>
constexpr strategy mul(dims const& a, dims const& b) {
  return pointwise(a, b)
      .linear_in(operand_bits(0))
      .linear_in(operand_bits(1))
      .passes(operand_bits(0, 1), monoid_bit(monoid::product), false);
}
/// a / b: linear in the numerator only.
template <class = void>
constexpr strategy div(dims const& a, dims const& b) {
  return pointwise(a, b).linear_in(operand_bits(0)).passes(operand_bits(0, 1), monoid_bit(monoid::product), false);
}

/// The larger one of a and b, element by element.
template <class = void>
constexpr strategy maximum(dims const& a, dims const& b) {
  return pointwise(a, b)
      .passes(operand_bits(0, 1), monoid_bit(monoid::maximum))
      .rising_in(0, monoid_bit(monoid::minimum))
      .rising_in(1, monoid_bit(monoid::minimum));
}
/// The smaller one of a and b, element by element.
template <class = void>
constexpr strategy minimum(dims const& a, dims const& b) {
  return pointwise(a, b)
      .passes(operand_bits(0, 1), monoid_bit(monoid::minimum))
      .rising_in(0, monoid_bit(monoid::maximum))
      .rising_in(1, monoid_bit(monoid::maximum));
}

/// Equality and roundings: nothing pending passes, and nothing receives a gradient.
template <class... D>
constexpr strategy stepwise(D const&... operands) {
  auto s = pointwise(operands...);
  s.differentiable = false;
  return s;
}

/// a < b, and a <= b; others are these with the operands exchanged. Where one operand is a pending extremum and the other
/// is whole, the booleans fold too: max(a) < b if all parts are, min(a) < b if any is.
template <class = void>
constexpr strategy less(dims const& a, dims const& b) {
  auto s = stepwise(a, b);
  return s.falling_in(0).rising_in(1);
}

/// where(condition, a, b): for a fixed condition it only moves entries of a and b.
template <class = void>
constexpr strategy where(dims const& condition, dims const& a, dims const& b) {
  return pointwise(condition, a, b).linear_in(operand_bits(1, 2), other_monoids);
}
/// masked_fill(a, mask, number): entries of a, or a literal; zero keeps a pending sum.
template <class = void>
constexpr strategy masked_fill(dims const& a, dims const& mask, bool with_zero) {
  auto s = pointwise(a, mask);
  if (with_zero) return s.linear_in(operand_bits(0), other_monoids);
  return s.passes(operand_bits(0), idempotent_monoids);
}

/// z + x * y, entry by entry.
template <class = void>
constexpr strategy multiply_add(dims const& z, dims const& x, dims const& y) {
  return pointwise(z, x, y).linear_in(operand_bits(0, 1)).linear_in(operand_bits(0, 2)).rising_in(0);
}
/// y = alpha * x + y with a scalar alpha that has a placement of its own, as (alpha, x, y).
template <class = void>
constexpr strategy axpy(dims const& x) {
  return pointwise(dims{}, x, x).linear_in(operand_bits(1, 2)).linear_in(operand_bits(0, 2)).rising_in(2);
}
/// a + w * (b - a), as (a, b, w): affine in w.
template <class = void>
constexpr strategy lerp(dims const& a, dims const& b, dims const& w) {
  return pointwise(a, b, w).linear_in(operand_bits(0, 1)).passes(operand_bits(2), monoid_bit(monoid::average));
}

/// How a function of one entry behaves.
enum class behaviour : std::uint8_t {
  any,           ///< nothing is known
  linear,        ///< real and imaginary part, conjugate
  copy,          ///< the entry itself, perhaps in a type that holds all its values
  rising,        ///< nondecreasing, everywhere
  falling,       ///< nonincreasing, everywhere
  rising_bounded ///< nondecreasing where it is defined, from some number upwards: sqrt, log
};

/// A function of one operand; `multiplicative` if f(x y) = f(x) f(y).
template <class = void>
constexpr strategy unary(dims const& x, behaviour how = behaviour::any, bool multiplicative = false) {
  auto s = pointwise(x);
  if (how == behaviour::linear) s.linear_in(operand_bits(0));
  if (how == behaviour::copy) s.linear_in(operand_bits(0), other_monoids);
  if (how == behaviour::rising) s.rising_in(0);
  if (how == behaviour::falling) s.falling_in(0);
  if (how == behaviour::rising_bounded) s.rising_in(0, monoid_bit(monoid::minimum));
  if (multiplicative) s.passes(operand_bits(0), monoid_bit(monoid::product));
  return s;
}
/// -x: linear, and falls in x.
template <class = void>
constexpr strategy neg(dims const& x) { return unary(x, behaviour::linear).falling_in(0); }

/// c * x and x / c for a literal c of this sign.
template <class = void>
constexpr strategy scale(dims const& x, int sign = 1) {
  auto s = unary(x, behaviour::linear);
  return sign < 0 ? s.falling_in(0) : s.rising_in(0);
}
/// The same numbers in another floating type: linear and monotone, up to the rounding that every sum has.
template <class = void>
constexpr strategy cast(dims const& x) { return scale(x); }
/// x + c for a literal c, or c - x (sign -1): affine, so a sum does not pass but an average does.
template <class = void>
constexpr strategy shift(dims const& x, int sign = 1) {
  auto s = pointwise(x).passes(operand_bits(0), monoid_bit(monoid::average));
  return sign < 0 ? s.falling_in(0) : s.rising_in(0);
}

} // namespace sla::strategies
