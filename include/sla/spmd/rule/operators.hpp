// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators of what has placements, one set for all kinds: distributed values (dist/value/expression.hpp), outlines
// (spmd/schedule/outline_operators.hpp) and the values of rules (compose.hpp). Each kind says what it meets, and performs the operation.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/rule/table/op_rule.hpp>

namespace sla {

/// An operation of the operators, `perform(operation<op::add>{}, l, r)`: its own struct need not be known.
template <class Op>
  requires detail::is_one_of<Op, op::add, op::sub, op::mul, op::div, op::pow, op::neg, op::exp, op::log, op::sqrt, op::abs, op::tanh, op::conj>
struct operation {};

namespace op {
/// How two numbers stand to each other.
enum class relation : std::uint8_t { less, less_equal, greater, greater_equal, equal, unequal };
/// A comparison.
template <relation Is>
struct comparison {
  constexpr bool operator()(auto const& a, auto const& b) const {
    if constexpr (Is == relation::equal || Is == relation::unequal)
      return (a == b) == (Is == relation::equal);
    else if constexpr (Is == relation::less || Is == relation::greater)
      return Is == relation::less ? a < b : a > b;
    else
      return Is == relation::less_equal ? a <= b : a >= b;
  }
};
} // namespace op

namespace detail {
// What the operators below are for; each kind of operand specialises these. Beside one operand alone a number of the program may
// stand, a literal; a run-time number is uniform(alpha).
template <class L, class R>
struct adds_up : std::false_type {}; ///< + - * /
template <class X>
struct adds_up_with_numbers : std::false_type {};
template <class L, class R>
struct has_order : std::false_type {}; ///< < <= > >=
template <class X>
struct has_order_with_numbers : std::false_type {};
template <class L, class R>
struct has_equality : std::false_type {}; ///< == !=
template <class X>
struct has_equality_with_numbers : std::false_type {};
template <class X>
struct has_own_functions : std::false_type {}; ///< exp(x) and its like without the floor expr

/// The type of absolute values.
template <class T>
struct magnitude {
  using type = T;
};
template <class T>
  requires requires(T z) { z.real(); }
struct magnitude<T> {
  using type = decltype(T{}.real());
};
template <class T>
  requires requires(T z) { z.re; }
struct magnitude<T> {
  using type = decltype(T{}.re);
};
/// The literal that may stand beside an X: a number known to the compiler.
template <class X>
using literal_beside = literal<typename magnitude<typename std::remove_cvref_t<X>::value_type>::type>;
template <class X>
using number_beside = std::type_identity_t<literal_beside<X>>;

template <class R, class L>
concept AddsUpWith = adds_up<L, R>::value;
template <class X>
concept AddsUpWithNumbers = adds_up_with_numbers<X>::value;
template <class R, class L>
concept OrderedWith = has_order<L, R>::value;
template <class X>
concept OrderedWithNumbers = has_order_with_numbers<X>::value;
template <class R, class L>
concept EquatedWith = has_equality<L, R>::value;
template <class X>
concept WithOwnFunctions = has_own_functions<X>::value;
} // namespace detail

template <class L, detail::AddsUpWith<L> R>
constexpr auto operator+(L&& l, R&& r) {
  return perform(operation<op::add>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::AddsUpWith<L> R>
constexpr auto operator-(L&& l, R&& r) {
  return perform(operation<op::sub>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::AddsUpWith<L> R>
constexpr auto operator*(L&& l, R&& r) {
  return perform(operation<op::mul>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::AddsUpWith<L> R>
constexpr auto operator/(L&& l, R&& r) {
  return perform(operation<op::div>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class X>
  requires(detail::AddsUpWithNumbers<X> || detail::WithOwnFunctions<X>)
constexpr auto operator-(X&& x) {
  return perform(operation<op::neg>{}, std::forward<X>(x));
}

template <detail::AddsUpWithNumbers X>
constexpr auto operator+(X&& x, detail::number_beside<X> s) {
  return perform(operation<op::add>{}, std::forward<X>(x), s);
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator+(detail::number_beside<X> s, X&& x) {
  return perform(operation<op::add>{}, s, std::forward<X>(x));
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator-(X&& x, detail::number_beside<X> s) {
  return perform(operation<op::sub>{}, std::forward<X>(x), s);
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator-(detail::number_beside<X> s, X&& x) {
  return perform(operation<op::sub>{}, s, std::forward<X>(x));
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator*(X&& x, detail::number_beside<X> s) {
  return perform(operation<op::mul>{}, std::forward<X>(x), s);
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator*(detail::number_beside<X> s, X&& x) {
  return perform(operation<op::mul>{}, s, std::forward<X>(x));
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator/(X&& x, detail::number_beside<X> s) {
  return perform(operation<op::div>{}, std::forward<X>(x), s);
}
template <detail::AddsUpWithNumbers X>
constexpr auto operator/(detail::number_beside<X> s, X&& x) {
  return perform(operation<op::div>{}, s, std::forward<X>(x));
}

// Comparisons of typed numbers give typed truth values, of tensors conditions. Law: as for a map that is not linear: a pending sum is
// refused.
template <class L, detail::OrderedWith<L> R>
constexpr auto operator<(L&& l, R&& r) {
  return perform(op::comparison<op::relation::less>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::OrderedWith<L> R>
constexpr auto operator<=(L&& l, R&& r) {
  return perform(op::comparison<op::relation::less_equal>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::OrderedWith<L> R>
constexpr auto operator>(L&& l, R&& r) {
  return perform(op::comparison<op::relation::greater>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::OrderedWith<L> R>
constexpr auto operator>=(L&& l, R&& r) {
  return perform(op::comparison<op::relation::greater_equal>{}, std::forward<L>(l), std::forward<R>(r));
}
template <class L, detail::EquatedWith<L> R>
constexpr auto operator==(L const& l, R const& r) {
  return perform(op::comparison<op::relation::equal>{}, l, r);
}
template <class L, detail::EquatedWith<L> R>
constexpr auto operator!=(L const& l, R const& r) {
  return perform(op::comparison<op::relation::unequal>{}, l, r);
}

template <detail::OrderedWithNumbers X>
constexpr auto operator<(X&& x, detail::number_beside<X> s) {
  return perform(op::comparison<op::relation::less>{}, std::forward<X>(x), s);
}
template <detail::OrderedWithNumbers X>
constexpr auto operator<=(X&& x, detail::number_beside<X> s) {
  return perform(op::comparison<op::relation::less_equal>{}, std::forward<X>(x), s);
}
template <detail::OrderedWithNumbers X>
constexpr auto operator>(X&& x, detail::number_beside<X> s) {
  return perform(op::comparison<op::relation::greater>{}, std::forward<X>(x), s);
}
template <detail::OrderedWithNumbers X>
constexpr auto operator>=(X&& x, detail::number_beside<X> s) {
  return perform(op::comparison<op::relation::greater_equal>{}, std::forward<X>(x), s);
}
template <detail::OrderedWithNumbers X>
constexpr auto operator<(detail::number_beside<X> s, X&& x) {
  return perform(op::comparison<op::relation::less>{}, s, std::forward<X>(x));
}
template <detail::OrderedWithNumbers X>
constexpr auto operator<=(detail::number_beside<X> s, X&& x) {
  return perform(op::comparison<op::relation::less_equal>{}, s, std::forward<X>(x));
}
template <detail::OrderedWithNumbers X>
constexpr auto operator>(detail::number_beside<X> s, X&& x) {
  return perform(op::comparison<op::relation::greater>{}, s, std::forward<X>(x));
}
template <detail::OrderedWithNumbers X>
constexpr auto operator>=(detail::number_beside<X> s, X&& x) {
  return perform(op::comparison<op::relation::greater_equal>{}, s, std::forward<X>(x));
}
template <class X>
  requires detail::has_equality_with_numbers<X>::value
constexpr auto operator==(X const& x, detail::number_beside<X> s) {
  return perform(op::comparison<op::relation::equal>{}, x, s);
}
template <class X>
  requires detail::has_equality_with_numbers<X>::value
constexpr auto operator!=(X const& x, detail::number_beside<X> s) {
  return perform(op::comparison<op::relation::unequal>{}, x, s);
}

// Functions of outlines and of rules; those of values are in expr/dense/ops.hpp.

/// The exponential, element by element.
template <detail::WithOwnFunctions X>
constexpr auto exp(X const& x) {
  return perform(operation<op::exp>{}, x);
}
/// The natural logarithm, element by element.
template <detail::WithOwnFunctions X>
constexpr auto log(X const& x) {
  return perform(operation<op::log>{}, x);
}
/// The square root, element by element.
template <detail::WithOwnFunctions X>
constexpr auto sqrt(X const& x) {
  return perform(operation<op::sqrt>{}, x);
}
/// The absolute value, element by element.
template <detail::WithOwnFunctions X>
constexpr auto abs(X const& x) {
  return perform(operation<op::abs>{}, x);
}
/// The hyperbolic tangent, element by element.
template <detail::WithOwnFunctions X>
constexpr auto tanh(X const& x) {
  return perform(operation<op::tanh>{}, x);
}
/// The complex conjugate, element by element.
template <detail::WithOwnFunctions X>
constexpr auto conj(X const& x) {
  return perform(operation<op::conj>{}, x);
}

} // namespace sla
