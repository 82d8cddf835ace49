// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of distributed sparse operands: `D * x`, `transpose(D) * x`, `adjoint(D) * x`. Replicated and batch-sharded operands
// multiply locally; rows exchange a halo. The local nodes are in dist/matvec.hpp.
#pragma once

#include <utility>

#include <sla/dist/elementwise.hpp>

namespace sla {

/// `transpose(D)`, `conj(D)`, `adjoint(D)` of a distributed sparse tensor: a view, which D must outlive.
template <class D, bool Transposed, bool Conj>
struct distributed_view {
  D const* matrix;
};
/// The checker sees the matrix; whether it is transposed is said by the operation.
template <class D, bool Transposed, bool Conj>
struct operand_traits<distributed_view<D, Transposed, Conj>> : operand_traits<D> {};

template <class X>
inline constexpr bool is_distributed_view = false;
template <class D, bool T, bool C>
inline constexpr bool is_distributed_view<distributed_view<D, T, C>> = true;
/// A distributed sparse tensor, or a view of one.
template <class A>
concept DistributedOperator = DistributedSparse<A> || is_distributed_view<std::remove_cvref_t<A>>;

namespace detail {
template <class A>
struct turned_operator {
  static constexpr bool transposed = false, conj = false;
};
template <class D, bool T, bool C>
struct turned_operator<distributed_view<D, T, C>> {
  static constexpr bool transposed = T, conj = C;
};
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
    any = any || decided.implied[a] == communication::halo || decided.implied[a] == communication::reverse_halo;
  return any;
}();
template <class List>
inline constexpr bool has_rows = false;
template <class... P>
inline constexpr bool has_rows<placements<P...>> = ((P::kind == placement_kind::sparse_shard) || ...);
}  // namespace detail

template <DistributedOperator A>
  requires std::is_lvalue_reference_v<A> || is_distributed_view<std::remove_cvref_t<A>>
auto perform(op::transpose, A&& a) {
  using V = detail::turned_operator<std::remove_cvref_t<A>>;
  return detail::view_of<!V::transposed, V::conj>(a);
}
template <DistributedOperator A>
  requires std::is_lvalue_reference_v<A> || is_distributed_view<std::remove_cvref_t<A>>
auto perform(op::conj, A&& a) {
  using V = detail::turned_operator<std::remove_cvref_t<A>>;
  return detail::view_of<V::transposed, !V::conj>(a);
}
template <DistributedOperator A>
  requires std::is_lvalue_reference_v<A> || is_distributed_view<std::remove_cvref_t<A>>
auto perform(op::adjoint, A&& a) {
  using V = detail::turned_operator<std::remove_cvref_t<A>>;
  return detail::view_of<!V::transposed, !V::conj>(a);
}

/// y = A x. Law: the placements agree (spmd/rules.hpp): rows with x in the matching Shard of the columns' layout.
/// Placement: rows give the row layout; Replicate and batch shards multiply locally.
/// Cost: rows send their halo to neighbours only, while the interior rows are computed. Errors: shape_error.
template <DistributedOperator A, Placed X>
auto operator*(A&& a, X&& x) {
  using Turned = detail::turned_operator<std::remove_cvref_t<A>>;
  using Op = std::conditional_t<Turned::transposed, op::transposed_matvec, op::matvec>;
  using D = std::remove_cvref_t<decltype(detail::matrix_of(a))>;
  using S = typename local_of_t<D>::shape_type;
  require_well_typed<Op, D, std::remove_cvref_t<X>>();
  if constexpr (!well_typed<Op, D, X>) {
    return detail::placed_elementwise<op::conj>(std::forward<X>(x));  // well-formed, so that the sentence is the only error
  } else {
    constexpr bool rows = detail::has_rows<placements_of_t<D>>;
    auto const handle = detail::matrix_of(a).handle();
    auto layout = detail::layout_of(x);
    auto node = detail::local_node(std::forward<X>(x));
    using X_ = decltype(node);
    using Shape_ = std::conditional_t<Turned::transposed, transposed_shape_t<S>, S>;
    static_assert(product_law<Shape_, typename X_::extents_type>,
                  "sla: A * x: x must have the extents (*batch, N, q) of A's domain, plus at most one axis of right-hand sides");
    using Result = typename detail::placed_result<Op, D, X>;
    auto const& local = detail::matrix_of(a).local();
    if constexpr (!rows) {
      auto operand = sparse_operand<decltype(detail::local_operand<Turned::conj>(std::forward<A>(a))), Turned::transposed>{
          detail::local_operand<Turned::conj>(std::forward<A>(a))};
      auto y = std::move(operand) * std::move(node);
      return typename Result::template type<decltype(y)>{std::move(y), std::move(layout)};
    } else {
      static_assert(detail::exchanges_halo<Op, D, X>,
                    "sla: A * x with the rows of A dealt out: give x in the layout of A's columns, distribute(x, A.col_layout())");
      auto const& in = Turned::transposed ? handle : handle->domain ? handle->domain : handle;
      auto const& out = Turned::transposed && handle->domain ? handle->domain : handle;
      if (layout->rows != in->rows && (!layout->rows || layout->rows->fingerprint() != in->rows->fingerprint()))
        throw shape_error(text("A * x: x was dealt out by another partition than A's ", Turned::transposed ? "rows" : "columns",
                               "; distribute it by A.", Turned::transposed ? "row" : "col", "_layout()"));
      // The result has own rows; its extents are those of the whole local product, with own columns counted only.
      index_t const wanted = Turned::transposed ? local.rows() : handle->halo->own(), made = Turned::transposed ? handle->halo->own() : local.rows();
      Shape_ const shape(local.shape().batch(), made, wanted);
      detail::require_product_extents(shape, node.extents());
      auto view = detail::local_operand<Turned::conj>(std::forward<A>(a));
      using Plan = std::shared_ptr<halo_plan const>;
      using Product = std::conditional_t<Turned::transposed, halo_transposed_product<decltype(view), X_, Plan>,
                                         halo_product<decltype(view), X_, Plan>>;
      auto const extents = detail::make_product_extents<typename Product::extents_type>(shape, node.extents());
      Product y{{std::move(view), std::move(node), extents}, handle->halo};
      return typename Result::template type<Product>{std::move(y), out == in ? std::move(layout) : out};
    }
  }
}

}  // namespace sla
