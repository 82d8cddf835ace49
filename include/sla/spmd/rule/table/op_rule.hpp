// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the rules know of an operation: in which operands it is linear, and which indices are the same index.
// The rules are in spmd/rule/rules.hpp; a user's operation gets its own by specialising rule_of.
#pragma once
#include <cstdint>
#include <type_traits>

#include <sla/spmd/placement/placement.hpp>

namespace sla {

namespace op { // core/op.hpp has the arithmetic; here their names suffice
struct add;
struct sub;
struct mul;
struct div;
struct pow;
struct larger;
struct smaller;
struct less;
struct less_equal;
struct where;
struct apply;
struct neg;
struct conj;
struct real;
struct imag;
struct abs;
struct abs2;
struct exp;
struct sqrt;
struct log;
struct sin;
struct cos;
struct tanh;
struct atan;
struct minimum;
struct maximum;
struct dot;
struct sum;
struct squared_norm;
struct norm;
struct norm1;
struct norm_inf;
struct matvec;
struct transposed_matvec;
struct solve;
} // namespace op

/// Jointly linear in all operands, linear in each of them separately, or neither (what is safe to say of any
/// operation).
enum class linearity : std::uint8_t { none, joint, separate };

/// Which indices of the operands and of the result are the same index.
enum class index_use : std::uint8_t { elementwise, reduction, matvec, transposed_matvec, solve };

/// What the rules know of an operation.
struct op_rule {
  index_use indices = index_use::elementwise;
  linearity linear = linearity::none;
  std::uint8_t nonlinear_arguments = 0; ///< a bit for each operand in which a separately linear operation is not linear
  monoid contraction = monoid::none;    ///< over the indices that the result lacks
  bool finishes = false;                ///< reduces over the ranks too: its result is a number on every rank
  bool known = true;
  std::uint8_t rising = 0, falling = 0; ///< a bit for each operand in which the operation is monotone
  bool bounded_domain = false;          ///< below: a losing part of a pending maximum may lie outside
  bool differentiable = true;           ///< false: no operand receives a gradient from it, so copies are copies
};

namespace detail {

template <class Op, class... List>
inline constexpr bool is_one_of = (std::is_same_v<Op, List> || ...);

template <class Op>
consteval op_rule library_rule() {
  using index = index_use;
  using linear = linearity;
  if (is_one_of<Op, op::add>) return {.linear = linear::joint, .rising = 0b11};
  if (is_one_of<Op, op::sub>) return {.linear = linear::joint, .rising = 0b01, .falling = 0b10};
  if (is_one_of<Op, op::neg>) return {.linear = linear::joint, .falling = 0b01};
  if (is_one_of<Op, op::exp, op::tanh, op::atan>) return {.rising = 0b01};
  if (is_one_of<Op, op::sqrt, op::log>) return {.rising = 0b01, .bounded_domain = true};
  if (is_one_of<Op, op::conj, op::real, op::imag>) return {.linear = linear::joint};
  if (is_one_of<Op, op::mul>) return {.linear = linear::separate};
  if (is_one_of<Op, op::div>) return {.linear = linear::separate, .nonlinear_arguments = 0b10};
  if (is_one_of<Op, op::pow, op::abs, op::abs2, op::sin, op::cos, op::larger, op::smaller, op::less, op::less_equal, op::where, op::apply>) return {};
  if (is_one_of<Op, op::dot>) return {index::reduction, linear::separate, 0, monoid::sum};
  if (is_one_of<Op, op::sum>) return {index::reduction, linear::joint, 0, monoid::sum};
  if (is_one_of<Op, op::squared_norm>) return {index::reduction, linear::none, 0, monoid::sum};
  if (is_one_of<Op, op::maximum>) return {index::reduction, linear::none, 0, monoid::maximum};
  if (is_one_of<Op, op::minimum>) return {index::reduction, linear::none, 0, monoid::minimum};
  if (is_one_of<Op, op::norm, op::norm1>) return {index::reduction, linear::none, 0, monoid::sum, true};
  if (is_one_of<Op, op::norm_inf>) return {index::reduction, linear::none, 0, monoid::maximum, true};
  if (is_one_of<Op, op::matvec>) return {index::matvec, linear::separate, 0, monoid::sum};
  if (is_one_of<Op, op::transposed_matvec>) return {index::transposed_matvec, linear::separate, 0, monoid::sum};
  if (is_one_of<Op, op::solve>) return {index::solve, linear::separate, 0b01};
  return {.known = false};
}

} // namespace detail

/// The rule of an operation. For an own one: `template <> inline constexpr sla::op_rule sla::rule_of<mine>{};`
template <class Op>
inline constexpr op_rule rule_of = detail::library_rule<Op>();

} // namespace sla
