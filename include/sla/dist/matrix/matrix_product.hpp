// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of distributed sparse operands: `D * x`, `transpose(D) * x`, `adjoint(D) * x`. Replicated and batch-sharded operands
// multiply locally, and so do columns, whose result is Partial; rows exchange a halo. The local nodes are in dist/halo/row_product.hpp.
#pragma once

#include <utility>

#include <sla/dist/halo/entry_product.hpp>
#include <sla/dist/value/expression.hpp>
#include <sla/expr/sparse/residual.hpp>
#include <sla/spmd/rule/out_partial.hpp>

namespace sla {

/// `transpose(D)`, `conj(D)`, `adjoint(D)` of a distributed sparse tensor: a view, which D must outlive.
template <class D, bool Transposed, bool Conj>
struct distributed_view {
  D const* matrix;
};
/// The checker sees the matrix; whether it is transposed is said by the operation.
template <class D, bool Transposed, bool Conj>
struct operand_traits<distributed_view<D, Transposed, Conj>> : operand_traits<D> {};

/// Is X the transpose, adjoint or conjugate of a distributed sparse tensor?
template <class X>
inline constexpr bool is_distributed_view = false;
template <class D, bool T, bool C>
inline constexpr bool is_distributed_view<distributed_view<D, T, C>> = true;
namespace detail {
template <class A>
inline constexpr bool is_on_host = true;
template <PlacedSparse A>
inline constexpr bool is_on_host<A> = DistributedSparse<A>;
template <class D, bool T, bool C>
inline constexpr bool is_on_host<distributed_view<D, T, C>> = DistributedSparse<D>;
} // namespace detail
/// A distributed sparse tensor, or a view of one.
template <class A>
concept PlacedOperator = PlacedSparse<A> || is_distributed_view<std::remove_cvref_t<A>>;
/// The same in host memory.
template <class A>
concept DistributedOperator = PlacedOperator<A> && detail::is_on_host<std::remove_cvref_t<A>>;

namespace detail {
template <class A>
struct view_orientation {
  static constexpr bool transposed = false, conj = false;
};
template <class D, bool T, bool C>
struct view_orientation<distributed_view<D, T, C>> {
  static constexpr bool transposed = T, conj = C;
};
/// How the rules call a product by A.
template <class A>
using product_op = std::conditional_t<view_orientation<std::remove_cvref_t<A>>::transposed, op::transposed_matvec, op::matvec>;
template <class Op>
concept IsProduct = std::same_as<requested_op_t<Op>, op::matvec> || std::same_as<requested_op_t<Op>, op::transposed_matvec>;
template <class A>
auto const& matrix_of(A const& a) {
  if constexpr (is_distributed_view<A>)
    return *a.matrix;
  else
    return a;
}
template <bool Transposed, bool Conj, class A>
auto view_of(A const& a) {
  using D = std::remove_cvref_t<decltype(matrix_of(a))>;
  return distributed_view<D, Transposed, Conj>{&matrix_of(a)};
}
/// What Op multiplies by: A, or its transpose; lvalues are viewed.
template <class Op, class A>
decltype(auto) oriented_for(A const& a) {
  if constexpr (std::same_as<requested_op_t<Op>, op::transposed_matvec>)
    return view_of<!view_orientation<A>::transposed, view_orientation<A>::conj>(a);
  else
    return (a);
}
/// The local operand: a view of the part, conjugated where asked; a part of an rvalue is held.
template <bool Conj, class A>
auto local_operand(A&& a) {
  if constexpr (is_distributed_view<std::remove_cvref_t<A>> || std::is_lvalue_reference_v<A>) {
    auto v = view(matrix_of(a).local());
    if constexpr (Conj)
      return v.conjugated();
    else
      return v;
  } else {
    return as_sparse(std::forward<A>(a).local()).A;
  }
}
/// Is there an axis on which the call exchanges a halo, or its reverse?
template <class Op, class... X>
inline constexpr bool exchanges_halo = [] {
  auto const decided = outcome_of<Op, std::remove_cvref_t<X>...>;
  bool any = false;
  for (int a = 0; a < max_mesh_axes; ++a)
    any = any || decided.implied[a] == communication::halo || decided.implied[a] == communication::reverse_halo ||
          decided.implied[a] == communication::halo_and_back;
  return any;
}();
/// The (last) mesh axis that shards rows, Dim = 0, columns, 1, or either; -1: none.
template <class List, int Dim = -1>
inline constexpr int sparse_axis = -1;
template <class... P, int Dim>
inline constexpr int sparse_axis<placements<P...>, Dim> = [] {
  int a = 0, found = -1;
  auto const look = [&]<class Q>(std::type_identity<Q>) {
    if constexpr (Q::kind == placement_kind::sparse_shard)
      if (Dim < 0 || Q::dim == Dim) found = a;
    ++a;
  };
  (look(std::type_identity<P>{}), ...);
  return found;
}();
/// The axis along which one owner has each row: that of rows or columns, or of entries; -1: none.
template <class List>
inline constexpr int owners_axis = sparse_axis<List>;
template <class... P>
  requires(by_entries<placements<P...>>)
inline constexpr int owners_axis<placements<P...>> = [] {
  int a = 0, found = -1;
  ((P::kind == placement_kind::hyper ? void(found = a++) : void(a++)), ...);
  return found;
}();
/// Which sparse axis the ranks of some mesh axis share: 0 rows, 1 columns (of a grid too: no rank has whole rows), -1 none.
template <class List>
inline constexpr int sparse_dim = sparse_axis<List, 1> >= 0 ? 1 : sparse_axis<List, 0> >= 0 ? 0 : -1;
/// The layout of the result: that of A's rows (or columns), with x's extents on the other axes. It is x's handle where that is equal.
template <class Handle>
Handle result_layout(Handle const& side, Handle const& x, int axis) {
  if (same_rows(x->rows.get(), side->rows.get())) return x;
  auto extent = x->extent;
  extent[axis] = side->extent[axis];
  if (extent == side->extent) return side;
  auto merged = std::make_shared<std::remove_const_t<typename Handle::element_type>>(*side);
  merged->extent = extent;
  return merged;
}
/// Errors: shape_error, if x was sharded by another partition than the rows or columns that it meets; in words that begin with the call.
template <class Handle>
void require_partition(Handle const& x, Handle const& side, bool of_rows, char const* call = "A * x: x") {
  auto const &mine = x->rows, &wanted = side->rows;
  if (same_rows(mine.get(), wanted.get())) return;
  auto const owned = [](row_partition const& rows) { return text(rows.words(), " of ", rows.extent()); };
  auto const remedy = text(of_rows ? "row" : "col", "_layout()");
  auto const who = text(call, " was sharded by another partition than A's ", of_rows ? "rows" : "columns", ": rank ", wanted->rank(), " has ");
  throw shape_error(text(who, mine ? owned(*mine) : "what a stated family gives it", ", and of A ", owned(*wanted), "; distribute it by A.", remedy));
}
/// Errors: shape_error, if a rank's part has another length than its partition says.
template <class = void>
void require_part(index_t length, row_partition const& rows, char const* call, char const* layout) {
  if (length != rows.count())
    throw shape_error(text(call, " has ", length, " rows on rank ", rows.rank(), " of ", rows.ranks(), ", which owns ", rows.count(), " of ", rows.extent(),
                           "; distribute it by A.", layout));
}
/// Errors: shape_error, if the ghosts of x are not those that the rows of A read.
template <class Handle>
void require_halo(Handle const& x, Handle const& of_matrix) {
  if (!x->halo || !of_matrix->halo || !x->halo->same_ghosts(*of_matrix->halo))
    throw shape_error("A * x: x has the halo of another sparse tensor; exchange it for A: halo_exchange<axis, pattern>(x, A)");
}
} // namespace detail

template <PlacedOperator A>
  requires std::is_lvalue_reference_v<A> || is_distributed_view<std::remove_cvref_t<A>>
auto perform(op::transpose, A&& a) {
  using V = detail::view_orientation<std::remove_cvref_t<A>>;
  return detail::view_of<!V::transposed, V::conj>(a);
}
template <PlacedOperator A>
  requires std::is_lvalue_reference_v<A> || is_distributed_view<std::remove_cvref_t<A>>
auto perform(op::conj, A&& a) {
  using V = detail::view_orientation<std::remove_cvref_t<A>>;
  return detail::view_of<V::transposed, !V::conj>(a);
}
template <PlacedOperator A>
  requires std::is_lvalue_reference_v<A> || is_distributed_view<std::remove_cvref_t<A>>
auto perform(op::adjoint, A&& a) {
  using V = detail::view_orientation<std::remove_cvref_t<A>>;
  return detail::view_of<!V::transposed, !V::conj>(a);
}

namespace detail {
/// The product of a nonzero partition: a halo in, contributions out.
template <class Op, class A, class X>
auto product_of_entries(A&& a, X&& x) {
  using Orientation = view_orientation<std::remove_cvref_t<A>>;
  using D = std::remove_cvref_t<decltype(matrix_of(a))>;
  auto const handle = matrix_of(a).handle();
  auto layout = layout_of(x);
  require_partition(layout, handle, Orientation::transposed);
  auto view = local_operand<Orientation::conj>(std::forward<A>(a));
  auto node = local_node(std::forward<X>(x));
  using Product = entries_product<decltype(view), decltype(node), Orientation::transposed, std::shared_ptr<halo_plan const>>;
  Product y{std::move(view), std::move(node), handle->fold, handle->halo};
  return typename distributed_result<Op, D, X>::template type<Product>{std::move(y), std::move(layout)};
}
/// Of rows on one axis and columns on another: nothing is sent.
template <class Op, class A, class X>
auto product_of_grid(A&& a, X&& x) {
  using Orientation = view_orientation<std::remove_cvref_t<A>>;
  using D = std::remove_cvref_t<decltype(matrix_of(a))>;
  constexpr int from = sparse_axis<placements_of_t<D>, Orientation::transposed ? 0 : 1>;
  auto const handle = matrix_of(a).handle();
  if (layout_of(x)->extent[from] != handle->extent[from])
    throw shape_error(text("A * x: x has ", layout_of(x)->extent[from], " elements, and A ", handle->extent[from],
                           Orientation::transposed ? " rows" : " columns"));
  auto view = local_operand<Orientation::conj>(std::forward<A>(a));
  auto y = sparse_operand<decltype(view), Orientation::transposed>{std::move(view)} * local_node(std::forward<X>(x));
  return typename distributed_result<Op, D, X>::template type<decltype(y)>{std::move(y), handle};
}
/// Of rows, columns or batches on one axis, and of copies.
template <class Op, class A, class X>
auto product_of_parts(A&& a, X&& x) {
  using Orientation = view_orientation<std::remove_cvref_t<A>>;
  using D = std::remove_cvref_t<decltype(matrix_of(a))>;
  using S = typename local_of_t<D>::shape_type;
  constexpr int sharded = sparse_dim<placements_of_t<D>>;
  auto const handle = matrix_of(a).handle();
  auto layout = layout_of(x);
  auto node = local_node(std::forward<X>(x));
  using X_ = decltype(node);
  using Shape_ = std::conditional_t<Orientation::transposed, transposed_shape_t<S>, S>;
  static_assert(product_law<Shape_, typename X_::extents_type>,
                "sla: A * x: x must have the extents (*batch, N, q) of A's domain, plus at most one axis of right-hand sides");
  using Result = distributed_result<Op, D, X>;
  constexpr int axis = sparse_axis<placements_of_t<D>>;
  auto const& in = Orientation::transposed ? range_layout(handle) : domain_layout(handle);
  auto const& out = Orientation::transposed ? domain_layout(handle) : range_layout(handle);
  auto const placed = [&](auto y) {
    auto where = layout;
    if constexpr (axis >= 0) where = result_layout(out, layout, axis);
    return typename Result::template type<decltype(y)>{std::move(y), std::move(where)};
  };
  constexpr bool halo = exchanges_halo<Op, D, X>;
  if constexpr (halo || (sharded == 1 && !Orientation::transposed)) require_partition(layout, in, Orientation::transposed);

  auto view = local_operand<Orientation::conj>(std::forward<A>(a));
  constexpr bool ghosts = [] { // x brings its halo: the local product reads it
    if constexpr (axis >= 0)
      return placement_on_t<X, axis>::kind == placement_kind::ghost;
    else
      return false;
  }();
  if constexpr (ghosts) {
    require_partition(layout, in, false);
    require_halo(layout, handle);
  }
  if constexpr (halo || (sharded == 0 && !Orientation::transposed && !ghosts)) {
    // The result has own rows; its extents are those of the whole local product, with own columns counted only.
    index_t const rows = view.shape.rows(), own = handle->halo->own();
    index_t const whole = halo ? own : in->extent[axis];
    Shape_ const shape(view.shape.batch(), Orientation::transposed ? own : rows, Orientation::transposed ? rows : whole);
    if constexpr (halo) require_part(node.extents()[S::batch_extents::rank], *in->rows, "A * x: x", Orientation::transposed ? "row_layout()" : "col_layout()");
    require_product_extents(shape, node.extents());
    auto const product = [&]<class Product>(std::type_identity<Product>, auto&& plan) {
      auto const extents = make_product_extents<typename Product::extents_type>(shape, node.extents());
      return Product{{std::move(view), std::move(node), extents}, plan};
    };
    using View = decltype(view);
    using Plan = std::shared_ptr<halo_plan const>;
    constexpr bool on_host = local_of_t<D>::memory_type::is_host;
    static_assert(halo || on_host, "sla: D * x: x is Replicate, and the rows of D in another memory than the host's read their part of it and a halo: shard x by D.col_layout(), or take "
                                   "to<host_memory>(D)");
    if constexpr (!halo)
      return placed(product(std::type_identity<picked_product<View, X_, decltype(layout)>>{}, handle));
    else if constexpr (Orientation::transposed)
      return placed(product(std::type_identity<halo_transposed_product<View, X_, Plan>>{}, handle->halo));
    else
      return placed(product(std::type_identity<halo_product<View, X_, Plan>>{}, handle->halo));
  } else {
    return placed(sparse_operand<decltype(view), Orientation::transposed>{std::move(view)} * std::move(node));
  }
}

/// The product by Op: op::matvec or op::transposed_matvec, as A is transposed, or one of them with what is asked of it. Law: the call
/// is well typed, or has been refused.
template <class Op, PlacedOperator A, DistributedExpr X>
auto product_as(A&& a, X&& x) {
  static_assert(std::same_as<requested_op_t<Op>, product_op<A>>);
  using D = std::remove_cvref_t<decltype(matrix_of(a))>;
  using List = placements_of_t<D>;
  constexpr bool together = same_memory_law<typename local_of_t<D>::memory_type, memory_on_ranks_t<X>>;
  static_assert(together, "sla: D * x: the parts of D and x live in different memories; bring one over with to<Memory>(...)");
  if constexpr (!well_typed<Op, D, X> || !together)
    return distributed_elementwise<op::conj>(std::forward<X>(x));  // well-formed, so that the sentence is the only error
  else if constexpr (by_entries<List> && exchanges_halo<Op, D, X>)
    return product_of_entries<Op>(std::forward<A>(a), std::forward<X>(x));
  else if constexpr (is_grid<List>)
    return product_of_grid<Op>(std::forward<A>(a), std::forward<X>(x));
  else
    return product_of_parts<Op>(std::forward<A>(a), std::forward<X>(x));
}
} // namespace detail

/// y = A x. Law: the placements agree (spmd/rule/rules.hpp): rows with x in the matching Shard of the columns' layout, or with a
/// Replicate x; columns with x in that Shard; transposed columns with a Replicate x.
/// Rows take a Ghost too, the halo that was exchanged by name: the product sends nothing then.
/// Placement: rows give the row layout; columns give Partial, which all_reduce or reduce_scatter<axis, Shard<d, Part<>>>
/// finishes; transposed columns give the columns' layout. Replicate and batch shards multiply locally.
/// On a grid, rows on one axis and columns on another, x is Replicate on the rows' axis and Shard on the columns'; y is Shard on the
/// rows' axis and Partial on the columns'; transposed the other way round.
/// A nonzero partition takes x in the vectors' Shard and gives y in it: a halo in, contributions out.
/// Cost: rows send their halo to neighbours only, while the interior rows are computed; all else is local.
/// Errors: shape_error.
template <PlacedOperator A, DistributedExpr X>
auto operator*(A&& a, X&& x) {
  using Op = detail::product_op<A>;
  require_well_typed<Op, std::remove_cvref_t<decltype(detail::matrix_of(a))>, std::remove_cvref_t<X>>();
  return detail::product_as<Op>(std::forward<A>(a), std::forward<X>(x));
}
/// A whole matrix beside a distributed vector is refused by a sentence.
template <SparseOperand A, DistributedExpr X>
  requires(!PlacedOperator<A>)
auto operator*(A const&, X&& x) {
  static_assert(always_false<A>, "sla: A * x: x is distributed and A is a matrix of one rank: distribute it, D = distribute<SparseShard<0>>(A, mesh, partitioner), "
                                 "and x by D.col_layout()");
  return detail::distributed_elementwise<op::conj>(std::forward<X>(x));  // well-formed, so that the sentence is the only error
}
template <PlacedOperator A, Tensorial X>
  requires(!DistributedExpr<X>)
auto operator*(A const& a, X&& x) {
  require_well_typed<detail::product_op<A>, std::remove_cvref_t<decltype(detail::matrix_of(a))>, std::remove_cvref_t<X>>();
  return as_node(std::forward<X>(x));
}
// An order of all rows is taken before they are distributed.
namespace detail {
template <class X>
constexpr void refuse_order() {
  static_assert(always_false<X>, "sla: permuted(D, p), permuted(db, p), rcm(D), amd(D) on ranks are not there yet: order before it is distributed, p = rcm(A) and "
                                 "distribute<SparseShard<0>>(permuted(A, p), mesh, partitioner), distribute(permuted(b, p), D.row_layout()); gather(D) is the whole matrix");
}
/// What an order is not taken of.
template <class X>
concept OnRanks = PlacedOperator<X> || DistributedExpr<X>;
} // namespace detail
template <detail::OnRanks X, class P = std::initializer_list<index_t>>
auto permuted(X const& x, P const&) {
  detail::refuse_order<X>();
  return x;
}
template <PlacedOperator A>
std::vector<index_t> rcm(A const&) {
  detail::refuse_order<A>();
  return {};
}
template <PlacedOperator A>
std::vector<index_t> amd(A const&) {
  detail::refuse_order<A>();
  return {};
}

/// The same with its result asked to be a pending sum (spmd/rule/out_partial.hpp): `perform(out_partial<op::matvec, "tp">{}, A, x)`;
/// op::transposed_matvec multiplies by the transpose of A.
template <class Op, class Word, PlacedOperator A, DistributedExpr X>
  requires detail::IsProduct<Op>
auto perform(detail::requesting_partial<Op, Word>, A const& a, X&& x) {
  using Requested = detail::requesting_partial<Op, Word>;
  require_well_typed<Requested, std::remove_cvref_t<decltype(detail::matrix_of(a))>, std::remove_cvref_t<X>>();
  return detail::product_as<Requested>(detail::oriented_for<Requested>(a), std::forward<X>(x));
}

/// b - y on a mesh, where y = D * x.
template <DistributedExpr B, DistributedExpr Y>
auto accurate_residual(B const& b, Y&& y) {
  return detail::distributed_like(b - std::forward<Y>(y), detail::to_twofold{});
}

} // namespace sla
