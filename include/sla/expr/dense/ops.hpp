// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise operators and functions on tensors and expressions. Types promote as in C++; one sentence says what is wrong.
// Reductions are in expr/dense/reduce.hpp, products with sparse tensors in expr/sparse/product.hpp.
#pragma once

#include <type_traits>

#include <sla/expr/dense/node.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

namespace detail {
/// The node of an elementwise operation on two operands, its laws checked.
template <class Op, class L, class R>
auto elementwise(L&& l, R&& r, char const* name) {
  using Left = node_t<L>;
  using Right = node_t<R>;
  constexpr bool of_dense_matrix = std::same_as<Op, op::mul> && Left::extents_type::rank == 2 && Right::extents_type::rank == 1;
  static_assert(same_extents_law<typename Left::extents_type, typename Right::extents_type> || of_dense_matrix,
                "sla: elementwise operation on tensors of different shapes: both operands need the same extents");
  static_assert(same_extents_law<typename Left::extents_type, typename Right::extents_type> || !of_dense_matrix,
                "sla: D * x: D is a dense matrix, and products of dense tensors are elementwise; the product of a matrix and a vector is that of a sparse one, to<Csr<>>(D) * x");
  static_assert(same_memory_law<typename Left::memory_type, typename Right::memory_type>,
                "sla: the operands live in different memories: bring one over with to<device_memory>(x) or to<host_memory>(x)");
  if constexpr (same_extents_law<typename Left::extents_type, typename Right::extents_type> &&
                same_memory_law<typename Left::memory_type, typename Right::memory_type>) {
    binary<Op, Left, Right> node{as_node(std::forward<L>(l)), as_node(std::forward<R>(r))};
    require_same_extents(node.l.extents(), node.r.extents(), name);
    return node;
  } else {
    return Left(as_node(std::forward<L>(l)));  // well-formed, so that the sentence above is the only error
  }
}

template <class Op, class X>
auto elementwise(X&& x) {
  return unary<Op, node_t<X>>{as_node(std::forward<X>(x))};
}
} // namespace detail

/// Two operands, one of them a tensor.
template <class L, class R>
concept ElementwisePair = Operand<L> && Operand<R> && (Tensorial<L> || Tensorial<R>);

// Each operator five times: the first four bear the attribute, the last takes what is moved in (expr/dense/node.hpp, Viewed).
template <Viewed L, Viewed R>
auto operator+(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::add>(l, r, "x + y"); }
template <Viewed L, ByValue R>
auto operator+(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::add>(l, std::move(r), "x + y"); }
template <ByValue L, Viewed R>
auto operator+(L l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::add>(std::move(l), r, "x + y"); }
template <ByValue L, ByValue R>
  requires ElementwisePair<L, R>
auto operator+(L l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::add>(std::move(l), std::move(r), "x + y"); }
template <class L, class R>
  requires((Forwarded<L> || Forwarded<R>) && ElementwisePair<L, R>)
auto operator+(L&& l, R&& r) { return detail::elementwise<op::add>(std::forward<L>(l), std::forward<R>(r), "x + y"); }

template <Viewed L, Viewed R>
auto operator-(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::sub>(l, r, "x - y"); }
template <Viewed L, ByValue R>
auto operator-(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::sub>(l, std::move(r), "x - y"); }
template <ByValue L, Viewed R>
auto operator-(L l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::sub>(std::move(l), r, "x - y"); }
template <ByValue L, ByValue R>
  requires ElementwisePair<L, R>
auto operator-(L l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::sub>(std::move(l), std::move(r), "x - y"); }
template <class L, class R>
  requires((Forwarded<L> || Forwarded<R>) && ElementwisePair<L, R>)
auto operator-(L&& l, R&& r) { return detail::elementwise<op::sub>(std::forward<L>(l), std::forward<R>(r), "x - y"); }

template <Viewed L, Viewed R>
auto operator*(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::mul>(l, r, "x * y"); }
template <Viewed L, ByValue R>
auto operator*(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::mul>(l, std::move(r), "x * y"); }
template <ByValue L, Viewed R>
auto operator*(L l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::mul>(std::move(l), r, "x * y"); }
template <ByValue L, ByValue R>
  requires ElementwisePair<L, R>
auto operator*(L l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::mul>(std::move(l), std::move(r), "x * y"); }
template <class L, class R>
  requires((Forwarded<L> || Forwarded<R>) && ElementwisePair<L, R>)
auto operator*(L&& l, R&& r) { return detail::elementwise<op::mul>(std::forward<L>(l), std::forward<R>(r), "x * y"); }

template <Viewed L, Viewed R>
auto operator/(L& l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::div>(l, r, "x / y"); }
template <Viewed L, ByValue R>
auto operator/(L& l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::div>(l, std::move(r), "x / y"); }
template <ByValue L, Viewed R>
auto operator/(L l SLA_LIFETIMEBOUND, R& r SLA_LIFETIMEBOUND) { return detail::elementwise<op::div>(std::move(l), r, "x / y"); }
template <ByValue L, ByValue R>
  requires ElementwisePair<L, R>
auto operator/(L l SLA_LIFETIMEBOUND, R r SLA_LIFETIMEBOUND) { return detail::elementwise<op::div>(std::move(l), std::move(r), "x / y"); }
template <class L, class R>
  requires((Forwarded<L> || Forwarded<R>) && ElementwisePair<L, R>)
auto operator/(L&& l, R&& r) { return detail::elementwise<op::div>(std::forward<L>(l), std::forward<R>(r), "x / y"); }

template <Viewed X>
auto operator-(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::neg>(x); }
template <ByValue X>
  requires Tensorial<X>
auto operator-(X x SLA_LIFETIMEBOUND) { return detail::elementwise<op::neg>(std::move(x)); }
template <Tensorial X>
  requires Forwarded<X>
auto operator-(X&& x) { return detail::elementwise<op::neg>(std::forward<X>(x)); }
template <Tensorial X>
auto operator+(X&& x) {
  return as_node(std::forward<X>(x));
}

// ---- refused, each by one sentence. An operator of the user's own on his array of numbers is the better match.

namespace detail {
template <class L, class R>
concept WithForeignNumbers = (Tensorial<L> && ForeignNumbers<R>) || (ForeignNumbers<L> && Tensorial<R>);
/// The operand that has elements: what a refused operation returns, so that its sentence is the only error.
template <class L, class R>
auto dense_operand(L&& l, R&& r) {
  if constexpr (Tensorial<L>)
    return as_node(std::forward<L>(l));
  else
    return as_node(std::forward<R>(r));
}
template <class L, class R>
struct dense_of {};
template <Tensorial L, class R>
struct dense_of<L, R> : std::type_identity<node_t<L const&>> {};
template <class L, Tensorial R>
  requires(!Tensorial<L>)
struct dense_of<L, R> : std::type_identity<node_t<R const&>> {};
template <class L, class R>
auto refuse_foreign_numbers(L const& l, R const& r) {
  static_assert(always_false<L>, "sla: elementwise operation on tensors: one of the operands is an array of numbers, not a tensor: borrow(y.data(), n) is one of the same numbers, not copied");
  return dense_operand(l, r);
}
} // namespace detail

template <class L, class R>
  requires detail::WithForeignNumbers<L, R>
auto operator+(L const& l, R const& r) -> typename detail::dense_of<L, R>::type {
  return detail::refuse_foreign_numbers(l, r);
}
template <class L, class R>
  requires detail::WithForeignNumbers<L, R>
auto operator-(L const& l, R const& r) -> typename detail::dense_of<L, R>::type {
  return detail::refuse_foreign_numbers(l, r);
}
template <class L, class R>
  requires detail::WithForeignNumbers<L, R>
auto operator*(L const& l, R const& r) -> typename detail::dense_of<L, R>::type {
  return detail::refuse_foreign_numbers(l, r);
}
template <class L, class R>
  requires detail::WithForeignNumbers<L, R>
auto operator/(L const& l, R const& r) -> typename detail::dense_of<L, R>::type {
  return detail::refuse_foreign_numbers(l, r);
}
template <class L, class R>
  requires ElementwisePair<L, R>
bool operator==(L const&, R const&) {
  static_assert(always_false<L>, "sla: x == y of tensors: rounding decides; norm(x - y) <= tolerance compares them, and std::ranges::equal(x, y) element by element");
  return false;
}

// ---- named functions: of tensors and expressions each makes its node. Other operands go to an unqualified `perform(op, x)`, so that
// ---- traced and distributed ones, which higher floors define, are found by ADL even from code that never heard of them

template <class Op>
inline constexpr bool is_elementwise = false;

/// Of one number, which has no namespace to be found in: `real(dot(x, y))` in generic text. Dual numbers have functions of their own.
template <class Op, Scalar T>
  requires(is_elementwise<Op> && !is_dual<T> && requires(kernel_t<T> a) { Op::apply(a); })
auto perform(Op, T x) {
  auto const value = Op::apply(kernel_t<T>(x));
  return user_t<std::remove_const_t<decltype(value)>>(value);
}

/// Is there an operation Op on these operands? Its result is not made for the answer.
template <class Op, class... X>
concept Performs = requires(X&&... x) { typename std::type_identity<decltype(perform(Op{}, std::forward<X>(x)...))>; };
/// Does the function of Op take these operands? Of tensors and expressions nothing has to be found.
template <class Op, class... X>
concept Takes = (Tensorial<X> && ...) || Performs<Op, X...>;

template <>
inline constexpr bool is_elementwise<op::conj> = true;
template <>
inline constexpr bool is_elementwise<op::real> = true;
template <>
inline constexpr bool is_elementwise<op::imag> = true;
template <>
inline constexpr bool is_elementwise<op::abs> = true;
template <>
inline constexpr bool is_elementwise<op::abs2> = true;
template <>
inline constexpr bool is_elementwise<op::exp> = true;
template <>
inline constexpr bool is_elementwise<op::sqrt> = true;
template <>
inline constexpr bool is_elementwise<op::log> = true;
template <>
inline constexpr bool is_elementwise<op::sin> = true;
template <>
inline constexpr bool is_elementwise<op::cos> = true;
template <>
inline constexpr bool is_elementwise<op::tanh> = true;
template <>
inline constexpr bool is_elementwise<op::atan> = true;

namespace detail {
/// Plain, but no tensor: a sparse tensor of the host, a view of one, the array of its values. Functions of their entries are in expr/sparse/algebra.hpp,
/// numbers of them in expr/sparse/norms.hpp.
template <class X>
inline constexpr bool is_plain_entries = false;
template <class T, class S, class F>
inline constexpr bool is_plain_entries<sparse_tensor<T, S, F>> = true;
template <class T, class Memory>
inline constexpr bool is_plain_entries<buffer<T, Memory>> = true;
template <class Op, class A>
auto function_of_entries(A&& a);

/// The function of Op, of whatever has it.
template <class Op, class X>
auto function_of(X&& x) {
  if constexpr (Tensorial<X>)
    return elementwise<Op>(std::forward<X>(x));
  else if constexpr (is_plain_entries<std::remove_cvref_t<X>>)
    return function_of_entries<Op>(std::forward<X>(x));
  else
    return perform(Op{}, std::forward<X>(x));
}
} // namespace detail

/// For text that has Op as a parameter; so of two operands, and of other operations.
template <class Op, Tensorial X>
  requires is_elementwise<Op>
auto perform(Op, X&& x) {
  return detail::elementwise<Op>(std::forward<X>(x));
}

template <class L, class R>
  requires ElementwisePair<L, R>
auto perform(op::pow, L&& l, R&& r) {
  return detail::elementwise<op::pow>(std::forward<L>(l), std::forward<R>(r), "pow(x, y)");
}

/// Elementwise power; real operands.
template <class L, class R>
  requires Takes<op::pow, L, R>
auto pow(L&& l, R&& r) {
  if constexpr (ElementwisePair<L, R>)
    return detail::elementwise<op::pow>(std::forward<L>(l), std::forward<R>(r), "pow(x, y)");
  else
    return perform(op::pow{}, std::forward<L>(l), std::forward<R>(r));
}
/// The conjugate of each element.
template <class X>
  requires Takes<op::conj, X>
auto conj(X&& x) {
  return detail::function_of<op::conj>(std::forward<X>(x));
}
template <Viewed X>
auto conj(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::conj>(x); }
/// The real part of each element.
template <class X>
  requires Takes<op::real, X>
auto real(X&& x) {
  return detail::function_of<op::real>(std::forward<X>(x));
}
template <Viewed X>
auto real(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::real>(x); }
/// The imaginary part of each element.
template <class X>
  requires Takes<op::imag, X>
auto imag(X&& x) {
  return detail::function_of<op::imag>(std::forward<X>(x));
}
template <Viewed X>
auto imag(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::imag>(x); }
/// |x|, elementwise and real.
template <class X>
  requires Takes<op::abs, X>
auto abs(X&& x) {
  return detail::function_of<op::abs>(std::forward<X>(x));
}
template <Viewed X>
auto abs(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::abs>(x); }
/// |x|^2, elementwise and real.
template <class X>
  requires Takes<op::abs2, X>
auto abs2(X&& x) {
  return detail::function_of<op::abs2>(std::forward<X>(x));
}
template <Viewed X>
auto abs2(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::abs2>(x); }
/// e to the power of each element, complex too.
template <class X>
  requires Takes<op::exp, X>
auto exp(X&& x) {
  return detail::function_of<op::exp>(std::forward<X>(x));
}
template <Viewed X>
auto exp(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::exp>(x); }
/// The root of each element, complex too.
template <class X>
  requires Takes<op::sqrt, X>
auto sqrt(X&& x) {
  return detail::function_of<op::sqrt>(std::forward<X>(x));
}
template <Viewed X>
auto sqrt(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::sqrt>(x); }
/// The natural logarithm of each element; real tensors.
template <class X>
  requires Takes<op::log, X>
auto log(X&& x) {
  return detail::function_of<op::log>(std::forward<X>(x));
}
template <Viewed X>
auto log(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::log>(x); }
/// The sine of each element; real tensors.
template <class X>
  requires Takes<op::sin, X>
auto sin(X&& x) {
  return detail::function_of<op::sin>(std::forward<X>(x));
}
template <Viewed X>
auto sin(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::sin>(x); }
/// The cosine of each element; real tensors.
template <class X>
  requires Takes<op::cos, X>
auto cos(X&& x) {
  return detail::function_of<op::cos>(std::forward<X>(x));
}
template <Viewed X>
auto cos(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::cos>(x); }
/// The hyperbolic tangent of each element; real tensors.
template <class X>
  requires Takes<op::tanh, X>
auto tanh(X&& x) {
  return detail::function_of<op::tanh>(std::forward<X>(x));
}
template <Viewed X>
auto tanh(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::tanh>(x); }
/// The inverse of the tangent of each element; real tensors.
template <class X>
  requires Takes<op::atan, X>
auto atan(X&& x) {
  return detail::function_of<op::atan>(std::forward<X>(x));
}
template <Viewed X>
auto atan(X& x SLA_LIFETIMEBOUND) { return detail::elementwise<op::atan>(x); }

} // namespace sla
