// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What does not compute, each refused by one sentence: arithmetic on statements of `fuse`, on operators of the user's, on texts;
// functions of the wrong kind of operand. Refusals that stand beside what is meant are in expr/dense/ops.hpp, expr/sparse/product.hpp, expr/sparse/algebra.hpp.
#pragma once

#include <compare>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>

#include <sla/expr/dense/reduce.hpp>
#include <sla/expr/sparse/algebra.hpp>
#include <sla/expr/sparse/linear_operator.hpp>

namespace sla {

namespace detail {
template <class X>
inline constexpr bool is_linear_operator = false;
template <class T, class Memory>
inline constexpr bool is_linear_operator<linear_operator<T, Memory>> = true;
template <class X>
inline constexpr bool is_text = std::is_pointer_v<std::decay_t<X>> || std::same_as<X, std::string>;
template <class X>
inline constexpr bool is_statement = Statement<X>;

template <class L, class R>
concept WithStatement = Statement<L> || Statement<R>;
template <class L, class R>
concept WithText = ((Tensorial<L> || SparseOperand<L>) && is_text<R>) || (is_text<L> && (Tensorial<R> || SparseOperand<R>));
/// Beside a linear_operator; products with what has elements are computed.
template <class L, class R, bool Product>
concept WithLinearOperator = (is_linear_operator<L> && (Number<R> || SparseOperand<R> || is_linear_operator<R> || (!Product && Tensorial<R>))) ||
                             (is_linear_operator<R> && (Number<L> || SparseOperand<L> || Tensorial<L>));
template <class L, class R, bool Product>
concept RefusedPair = WithStatement<L, R> || WithText<L, R> || WithLinearOperator<L, R, Product>;

template <class L, class R>
auto refuse_pair(L const& l, R const& r) {
  constexpr bool statement = WithStatement<L, R>, text = !statement && WithText<L, R>;
  static_assert(!statement, "sla: arithmetic on a statement: dot_of(x, y), norm_of(x), sum_of(x), ... are statements of fuse, which returns their numbers; "
                            "the numbers themselves are dot(x, y), norm(x), sum(x), ...");
  static_assert(!text, "sla: arithmetic on a tensor and a text or pointer: the other operand is a tensor, an expression or a number; borrow(p, n) views n numbers from a pointer");
  static_assert(statement || text, "sla: arithmetic on a linear_operator: it is known by its products A * x alone; a sum, a multiple or a product of operators is a "
                                   "linear_operator<T>(rows, cols, apply) of its own, whose apply computes it, or a sparse tensor of all entries, to<Csr<>>(to_dense(A))");
  if constexpr (Tensorial<L const&> || Tensorial<R const&>)
    return dense_operand(l, r);
  else if constexpr (SparseOperand<L const&>)
    return stored(l);
  else if constexpr (SparseOperand<R const&>)
    return stored(r);
  else if constexpr (is_linear_operator<L>)
    return l;
  else if constexpr (is_linear_operator<R>)
    return r;
  else
    return double{};
}
} // namespace detail

template <class L, class R>
  requires detail::RefusedPair<L, R, false>
auto operator+(L const& l, R const& r) {
  return detail::refuse_pair(l, r);
}
template <class L, class R>
  requires detail::RefusedPair<L, R, false>
auto operator-(L const& l, R const& r) {
  return detail::refuse_pair(l, r);
}
template <class L, class R>
  requires detail::RefusedPair<L, R, true>
auto operator*(L const& l, R const& r) {
  return detail::refuse_pair(l, r);
}
template <class L, class R>
  requires detail::RefusedPair<L, R, false>
auto operator/(L const& l, R const& r) {
  return detail::refuse_pair(l, r);
}
template <class L, class R>
  requires detail::WithStatement<L, R>
std::partial_ordering operator<=>(L const& l, R const& r) {
  detail::refuse_pair(l, r);
  return std::partial_ordering::unordered;
}
template <class X>
  requires(Statement<X> || detail::is_linear_operator<X>)
auto operator-(X const& x) {
  return detail::refuse_pair(x, x);
}
/// Of elements, as sqrt(norm_of(x)).
template <class Op, Statement X>
  requires is_elementwise<Op>
double perform(Op, X const& x) {
  return detail::refuse_pair(x, x);
}
template <Statement X>
std::ostream& operator<<(std::ostream& out, X const&) {
  static_assert(!detail::is_statement<X>, "sla: std::cout << statement: set(x, y), dot_of(x, y), ... are statements of fuse, without a value of their own; print the tensor, or the number dot(x, y)");
  return out;
}

/// Refused: it has no order of its own in print.
template <class... X>
  requires((Tensorial<X> || SparseOperand<X>) || ...)
std::ostream& operator<<(std::ostream& out, std::tuple<X...> const&) {
  static_assert(sizeof...(X) == 0, "sla: std::cout << tuple: take it apart, auto [value, gradient] = value_and_gradient(f, x), and print each");
  return out;
}

namespace detail {
template <class X>
double refuse_numbers() {
  static_assert(always_false<X>, "sla: norm(x), sum(x), dot(x, y): an array of numbers is no tensor: borrow(v.data(), n) is one of the same numbers, not copied");
  return 0;
}
} // namespace detail
// The empty packs let a function of the user's own for arrays win.
template <detail::ForeignNumbers X, class... None>
  requires(sizeof...(None) == 0 && !Performs<op::norm, X const&>)
double norm(X const&, None const&...) {
  return detail::refuse_numbers<X>();
}
template <detail::ForeignNumbers X, class... None>
  requires(sizeof...(None) == 0 && !Performs<op::sum, X const&>)
double sum(X const&, None const&...) {
  return detail::refuse_numbers<X>();
}
template <class X, class Y, class... None>
  requires(sizeof...(None) == 0 && (detail::ForeignNumbers<X> || detail::ForeignNumbers<Y>) && !Performs<op::dot, X const&, Y const&>)
double dot(X const&, Y const&, None const&...) {
  return detail::refuse_numbers<X>();
}

/// Refused: sparse tensors are transposed, and operators.
template <Tensorial X>
node_t<X> transpose(X&& x) {
  static_assert(always_false<X>, "sla: transpose(x): x is dense, and sparse tensors are transposed: x^T y is dot(x, y), and x^T A is transpose(A) * x");
  return as_node(std::forward<X>(x));
}
/// Refused: a power of elements of a sparse tensor would fill it where the exponent is 0.
template <SparseOperand A, Number N>
auto pow(A const& a, N) {
  static_assert(always_false<A>, "sla: pow(A, p): A is sparse: the product A * A is its square, and with_values(A, pow(values(A), p)) has the powers of its entries");
  return detail::stored(a);
}

namespace detail {
/// Dense tensors among sparse ones.
template <class... X>
concept SomeDense = ((Tensorial<X> || SparseOperand<X>) && ...) && (Tensorial<X> || ...);
template <class A, class... More>
auto refuse_to_put_together(A const& a, More const&...) {
  static_assert(always_false<A>, "sla: cat_rows, cat_cols, block_diagonal put sparse tensors together: a dense matrix M beside them is to<Csr<>>(M), and a vector x "
                                 "the only column of such an M");
  if constexpr (SparseOperand<A const&>)
    return stored(a);
  else
    return sparse_tensor<double>();
}
} // namespace detail
template <class... Parts>
  requires detail::SomeDense<Parts const&...>
auto cat_rows(Parts const&... parts) {
  return detail::refuse_to_put_together(parts...);
}
template <class... Parts>
  requires detail::SomeDense<Parts const&...>
auto cat_cols(Parts const&... parts) {
  return detail::refuse_to_put_together(parts...);
}
template <class... Parts>
  requires detail::SomeDense<Parts const&...>
auto block_diagonal(Parts const&... parts) {
  return detail::refuse_to_put_together(parts...);
}
/// Refused: of dense tensors it is another product.
template <class A, class B>
  requires detail::SomeDense<A const&, B const&>
auto multiply_elements(A const& a, B const& b) {
  static_assert(always_false<A>, "sla: multiply_elements(A, B) multiplies entries of sparse tensors: of dense tensors it is x * y, and of A and a vector x scale_rows(A, x) or scale_cols(A, x)");
  return detail::dense_operand(a, b);
}

/// Refused: a norm is told by its name.
template <class X, Number P>
  requires(Tensorial<X> || SparseOperand<X>)
double norm(X const&, P) {
  static_assert(always_false<X>, "sla: norm(x, p): norm(x) is the Euclidean norm, of a matrix the Frobenius one; the others are norm1(x) and norm_inf(x)");
  return 0;
}
/// Refused: what is dense already.
template <Tensorial X>
node_t<X> to_dense(X&& x) {
  static_assert(always_false<X>, "sla: to_dense(x): x is dense already: eval(x) stores an expression, and of a sparse tensor A it is to_dense(A)");
  return as_node(std::forward<X>(x));
}
template <Tensorial X>
node_t<X> diagonal_of(X&& x) {
  static_assert(always_false<X>, "sla: diagonal_of(x): x is dense: diagonal(x) is the sparse matrix with the vector x on its diagonal, and diagonal_of(A) the diagonal of a sparse A; of a dense M read M(i, i)");
  return as_node(std::forward<X>(x));
}

/// The dense matrix of an operator: of its products with the unit vectors. Cost: one call of its function for each column.
template <class T>
matrix<T> to_dense(linear_operator<T> const& a) {
  matrix<T> unit(a.cols(), a.cols());
  for (index_t j = 0; j < a.cols(); ++j) unit(j, j) = T(1);
  return a * unit;
}

} // namespace sla
