// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one rank does with a sparse tensor and ranks do not, each refused by one sentence that says what to do instead.
#pragma once

#include <sla/dist/matrix/algebra_on_ranks.hpp>
#include <sla/dist/value/expression_gradient.hpp>

namespace sla {

namespace detail {
/// A distributed matrix, a view of one, traced or not.
template <class A>
concept MatrixOnRanks = PlacedOperator<A> || TracedRows<A>;
template <class... X>
concept WithMatrixOnRanks = (MatrixOnRanks<std::remove_cvref_t<X>> || ...);
} // namespace detail

template <detail::MatrixOnRanks A, class R, class C>
auto perform(op::select, A const& a, R const&, C const&) {
  static_assert(always_false<A>, "sla: cols, col, select_cols, select and permuted of a distributed matrix are not there: rows(D, first, last) and select_rows(D, mine) are, and of "
                                 "columns transposed(rows(transposed(D), first, last)); or take them before it is distributed");
  return a;
}
template <detail::MatrixOnRanks A>
auto perform(op::band, A const& a, index_t, index_t) {
  static_assert(always_false<A>, "sla: tril(D, k), triu(D, k), trace(D) of a distributed matrix are not there: the trace is sum(diagonal_of(D)), and triangles are taken before it is distributed");
  return a;
}
template <detail::MatrixOnRanks A>
auto perform(op::batch_items, A const& a, index_t, index_t) {
  static_assert(always_false<A>, "sla: batch_items(D, first, last), batch_item(D, k) of a distributed matrix: take them of each rank's part, D.local(), or before it is distributed");
  return a;
}
template <class A, class... More>
  requires(detail::MatrixOnRanks<A> || (detail::MatrixOnRanks<More> || ...))
auto cat_rows(A const& a, More const&...) {
  static_assert(always_false<A>, "sla: cat_rows, cat_cols, block_diagonal, cat_batch of distributed matrices are not there: put the parts together before they are distributed, or assemble "
                                 "them from the triplets of each rank");
  return a;
}
template <class A, class... More>
  requires(detail::MatrixOnRanks<A> || (detail::MatrixOnRanks<More> || ...))
auto cat_cols(A const& a, More const&... more) {
  return cat_rows(a, more...);
}
template <class A, class... More>
  requires(detail::MatrixOnRanks<A> || (detail::MatrixOnRanks<More> || ...))
auto block_diagonal(A const& a, More const&... more) {
  return cat_rows(a, more...);
}
template <class A, class... More>
  requires(detail::MatrixOnRanks<A> || (detail::MatrixOnRanks<More> || ...))
auto cat_batch(A const& a, More const&... more) {
  return cat_rows(a, more...);
}
template <class A, class B>
  requires detail::WithMatrixOnRanks<A, B>
auto kron(A const& a, B const&) {
  static_assert(always_false<A>, "sla: kron(A, B) of a distributed matrix is not there: assemble<SparseShard<0>>(mesh, rows, cols, i, j, v) takes the triplets that each rank makes of it, or "
                                 "distribute kron(A, B)");
  return a;
}

namespace detail {
/// A distributed matrix whose parts lie in another memory than the host's.
template <class A>
concept MatrixElsewhere = PlacedOperator<A> && !DistributedOperator<A>;
template <class A>
auto refuse_elsewhere(A const& a) {
  static_assert(always_false<A>, "sla: of a distributed matrix in another memory than the host's there are D * x, transpose(D) * x and solves with Krylov methods; this is computed on the host: "
                                 "to<host_memory>(D)");
  return a;
}
template <class Op>
concept OfEntries = std::same_as<Op, op::sum> || std::same_as<Op, op::norm> || std::same_as<Op, op::norm1> || std::same_as<Op, op::norm_inf> || std::same_as<Op, op::squared_norm>;
} // namespace detail
template <detail::MatrixElsewhere A>
auto gather(A const& a) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A>
auto to_dense(A const& a) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A>
auto transposed(A const& a) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A>
auto adjointed(A const& a) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A>
auto diagonal_of(A const& a) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A, class How>
auto repartition(A const& a, How const&) { return detail::refuse_elsewhere(a); }
template <PlacedTensor X, class Layout>
  requires(!DistributedTensor<X>)
auto repartition(X const& x, Layout const&) {
  static_assert(always_false<X>, "sla: repartition(x, layout) sends parts that are in host memory: to<host_memory>(x)");
  return x;
}
template <detail::OfEntries Op, detail::MatrixElsewhere A>
auto perform(Op, A const& a) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A, detail::MatrixElsewhere B>
auto operator+(A const& a, B const&) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A, detail::MatrixElsewhere B>
auto operator-(A const& a, B const&) { return detail::refuse_elsewhere(a); }
template <detail::MatrixElsewhere A, detail::MatrixElsewhere B>
auto operator*(A const& a, B const&) { return detail::refuse_elsewhere(a); }
template <Number S, detail::MatrixElsewhere A>
auto operator*(S, A const& a) { return detail::refuse_elsewhere(a); }
template <Number S, detail::MatrixElsewhere A>
auto operator*(A const& a, S) { return detail::refuse_elsewhere(a); }

namespace detail {
template <class A>
auto refuse_form(A const& a) {
  static_assert(always_false<A>, "sla: to<Format>(D), to_blocks, unblocked, to_batch, sorted of a distributed matrix: each rank's part is Csr, as distribute and assemble make it; "
                                 "bring A into its form before, distribute<SparseShard<0>>(to_blocks<2, 2>(A), mesh)");
  return a;
}
} // namespace detail
template <class Target, detail::MatrixOnRanks A, class... Options>
  requires(!detail::IsMemory<Target>)
auto convert(conversion_to<Target>, A const& a, Options const&...) {
  return detail::refuse_form(a);
}
template <index_t P, index_t Q, detail::MatrixOnRanks A>
auto to_blocks(A const& a) {
  return detail::refuse_form(a);
}
template <index_t K, detail::MatrixOnRanks A>
auto to_batch(A const& a) {
  return detail::refuse_form(a);
}
template <detail::MatrixOnRanks A>
auto to_batch(A const& a, index_t) {
  return detail::refuse_form(a);
}
template <detail::MatrixOnRanks A>
auto unblocked(A const& a) {
  return detail::refuse_form(a);
}
template <detail::MatrixOnRanks A>
auto sorted(A const& a) {
  return detail::refuse_form(a);
}

template <detail::MatrixOnRanks A>
auto perform(op::values, A const& a) {
  static_assert(always_false<A>, "sla: values(D), with_values(D, x) of a distributed matrix: this rank's entries are values(D.local()); abs(D), s * D, scale_rows(D, d), multiply_elements(D, E) "
                                 "change those of all ranks");
  return a;
}
template <detail::MatrixOnRanks A, class X>
auto perform(op::with_values, A const& a, X const&) {
  return perform(op::values{}, a);
}
/// Functions that fill what is not stored, or have two operands.
template <class Op, detail::MatrixOnRanks A, class... X>
  requires(is_elementwise<Op> && !std::same_as<Op, op::conj> && !(sizeof...(X) == 0 && DistributedSparse<A> && Performs<Op, local_of_t<plain_t<A>> const&>))
auto perform(Op, A const& a, X const&...) {
  static_assert(always_false<A>, "sla: this function of the entries of a distributed matrix is not there: those that are 0 at 0, of one untraced matrix, are (abs, sqrt, real, ...), and "
                                 "multiply_elements(D, E); of dense results take D * x, of others gather(D)");
  return a;
}
template <detail::MatrixOnRanks A, class Visit>
void for_each_entry(A const&, Visit const&) {
  static_assert(always_false<A>, "sla: for_each_entry(D, f) of a distributed matrix: the entries of this rank, by its own numbers of rows and columns, are for_each_entry(D.local(), f); all "
                                 "of them, where one rank can hold them, for_each_entry(gather(D), f)");
}
template <detail::MatrixOnRanks A, class N>
auto pow(A const& a, N const&) {
  static_assert(always_false<A>, "sla: pow(D, s) of a distributed matrix would fill what is not stored where s is 0; abs2(D), sqrt(D), multiply_elements(D, D) are there");
  return a;
}
template <detail::MatrixOnRanks A, class... Options>
auto spy(A const& a, Options const&...) {
  static_assert(always_false<A>, "sla: spy(D) of a distributed matrix: draw_partition(...) draws who owns what, and spy(gather(D)) a matrix that one rank can hold");
  return a;
}

namespace detail {
/// What may stand beside a distributed matrix by mistake: vectors, and matrices of one rank.
template <class B>
concept BesideMatrix = !MatrixOnRanks<B> && (Tensorial<B> || DistributedExpr<B> || TracedDistributedExpr<B> || SparseOperand<B>);
template <class A, class B>
concept MixedSum = (MatrixOnRanks<A> && (BesideMatrix<B> || Number<B>)) || ((BesideMatrix<A> || Number<A>) && MatrixOnRanks<B>);
template <class A, class B>
concept MixedProduct = (MatrixOnRanks<A> && SparseOperand<B> && !MatrixOnRanks<B>) || (BesideMatrix<A> && MatrixOnRanks<B>);
template <class A, class B>
concept MatrixQuotient = (MatrixOnRanks<A> && (BesideMatrix<B> || MatrixOnRanks<B>)) || ((BesideMatrix<A> || Number<A>) && MatrixOnRanks<B>);
template <class A, class B>
auto refuse_mixed_sum(A const& a, B const& b) {
  static_assert(always_false<A>, "sla: D + E, D - E of a distributed matrix and something else: both are sharded by rows: a matrix of one rank is distributed by the layout of the other, "
                                 "distribute<SparseShard<0>>(E, mesh, D.row_layout()); the diagonal is shifted by s * eye<double>(D.row_layout())");
  if constexpr (MatrixOnRanks<A>)
    return a;
  else
    return b;
}
} // namespace detail
template <class A, class B>
  requires detail::MixedSum<A, B>
auto operator+(A const& a, B const& b) {
  return detail::refuse_mixed_sum(a, b);
}
template <class A, class B>
  requires detail::MixedSum<A, B>
auto operator-(A const& a, B const& b) {
  return detail::refuse_mixed_sum(a, b);
}
template <class A, class B>
  requires detail::MixedProduct<A, B>
auto operator*(A const& a, B const&) {
  static_assert(always_false<A>, "sla: products with a distributed matrix: D * x and D * E, where x lies as D.col_layout() and E by rows, distribute<SparseShard<0>>(E, mesh, D.row_layout()); "
                                 "x D is transpose(D) * x, and diag(x) D is scale_rows(D, x)");
  return a;
}
template <class A, class B>
  requires detail::MatrixQuotient<A, B>
auto operator/(A const& a, B const&) {
  static_assert(always_false<A>, "sla: a quotient with a distributed matrix: D^-1 b is solve(D, b, cg{}, jacobi{}), and rows divided by x are scale_rows(D, 1.0 / x)");
  return a;
}

} // namespace sla
