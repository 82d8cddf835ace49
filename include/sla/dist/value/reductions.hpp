// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of distributed values, evaluated at once. `dot`, `sum` and `squared_norm` of shards are Partial numbers, no communication;
// the norms finish, Replicate, one all_reduce: `norm(x).value()` is the plain number. One all_reduce per monoid serves all of
// fuse(space, dot_of(x, y), ...) (dist/solve/mesh_space.hpp).
#pragma once

#include <utility>

#include <sla/dist/value/expression.hpp>
#include <sla/expr/dense/multi.hpp>
#include <sla/spmd/rule/out_partial.hpp>

namespace sla {

/// A reduction with placements: a statement of `fuse`; `eval` gives its number, a distributed one.
template <class R, class Mesh, class... P>
struct [[nodiscard]] distributed_reduction {
  using distributed_statement_tag = void;
  using value_type = user_t<typename R::result_type>;
  R local;
  layout_handle<Mesh> layout;
  fixed_array<bool, max_mesh_axes> reduced{};  ///< the axes that a norm folds over
};

namespace detail {
/// The monoid over ranks of a local fold.
template <class Fold>
constexpr monoid rank_monoid() {
  if constexpr (std::same_as<Fold, op::plus>)
    return monoid::sum;
  else if constexpr (std::derived_from<Fold, op::maximum>)
    return monoid::maximum;
  else
    return monoid::minimum;
}

template <class R, class Mesh, class List>
struct reduction_with;
template <class R, class Mesh, class... P>
struct reduction_with<R, Mesh, placements<P...>> {
  using type = distributed_reduction<R, Mesh, P...>;
};
/// Is the local reduction that of a norm, which reduces over the ranks too?
template <class R>
inline constexpr bool is_norm = false;
template <class Monoid, class X, class Finish>
inline constexpr bool is_norm<reduction<Monoid, X, Finish>> = !std::same_as<Finish, as_is> || std::same_as<Monoid, op::magnitude>;
template <class X>
inline constexpr bool is_norm<reduction<op::plus, unary<op::widen_abs, X>, as_is>> = true;
template <class S, class List>
struct statement_with;
template <class S, class... P>
struct statement_with<S, placements<P...>> {
  using type = distributed_statement<S, P...>;
};

/// Over which axes the ranks' folds are folded: those that the rules say are reduced.
template <class Op, class... X>
inline constexpr fixed_array<bool, max_mesh_axes> reduced_axes = [] {
  fixed_array<bool, max_mesh_axes> out{};
  auto const decided = outcome_of<Op, X...>;
  for (int a = 0; a < max_mesh_axes; ++a) out[a] = decided.implied[a] == communication::all_reduce;
  return out;
}();

template <class P, class List>
struct everywhere_on;
template <class P, class... Old>
struct everywhere_on<P, placements<Old...>> {
  template <class>
  using same = P;
  using type = placements<same<Old>...>;
};
/// The placements of a reduction's number; where the call is refused, legal ones, so that no second error follows.
template <class Op, class... X>
using reduced_placements_t = typename std::conditional_t<well_typed<Op, X...>, std::type_identity<result_placements_t<Op, X...>>,
                                                         everywhere_on<Replicate, result_placements_t<Op, X...>>>::type;
template <class Op, class... X>
  requires((DistributedExpr<X> && ...) && rule_of<requested_op_t<Op>>.indices == index_use::reduction)
using reduction_of = typename reduction_with<decltype(perform(requested_op_t<Op>{}, local_node(std::declval<X>())...)), common_mesh_t<X...>,
                                             reduced_placements_t<Op, std::remove_cvref_t<X>...>>::type;
template <class Op, class... X>
  requires((DistributedExpr<X> && ...) && rule_of<requested_op_t<Op>>.indices == index_use::reduction)
using distributed_reduction_t = checked_result<Op, reduction_of<Op, X...>, X...>;

template <class Op, class... X>
auto place_reduction(X&&... x) {
  require_well_typed<Op, std::remove_cvref_t<X>...>();
  auto layout = common_layout(x...);
  auto local = perform(requested_op_t<Op>{}, local_node(std::forward<X>(x))...);
  using Result = reduction_of<Op, X...>;
  static_assert(is_norm<decltype(local)> == rule_of<requested_op_t<Op>>.finishes);
  return Result{std::move(local), std::move(layout), reduced_axes<Op, std::remove_cvref_t<X>...>};
}

} // namespace detail

template <class X, class Y>
  requires DistributedPair<X, Y>
auto perform(op::dot, X&& x, Y&& y) -> detail::distributed_reduction_t<op::dot, X, Y> {
  return detail::place_reduction<op::dot>(std::forward<X>(x), std::forward<Y>(y));
}
template <class Op, DistributedExpr X>
  requires(rule_of<Op>.indices == index_use::reduction && rule_of<Op>.contraction != monoid::none && !std::same_as<Op, op::dot>)
auto perform(Op, X&& x) -> detail::distributed_reduction_t<Op, X> {
  return detail::place_reduction<Op>(std::forward<X>(x));
}

/// The number of a reduction, as the ranks hold it: Partial of shards; of a norm the finished number, by one all_reduce per axis.
template <class R, class Mesh, class... P>
auto eval(distributed_reduction<R, Mesh, P...> const& r) {
  typename rank_spaces<typename R::memory_type>::immediate space;
  using V = typename distributed_reduction<R, Mesh, P...>::value_type;
  using Folded = reduction<typename R::monoid_type, typename R::expression_type>;
  auto folded = std::get<0>(fuse(space, Folded{r.local.x}));
  for (int a = 0; a < Mesh::rank; ++a)
    if (r.reduced[a]) folded = all_reduce(r.layout->mesh.communicator(a), folded, detail::rank_monoid<typename R::monoid_type>());
  return distributed<V, Mesh, P...>(V(R::finish_type::apply(to_kernel(folded))), r.layout);
}

/// A reduction asked to be a pending sum, evaluated: `perform(out_partial<op::dot, "tp">{}, x, y)`.
template <class Op, class Word, DistributedExpr... X>
  requires(rule_of<detail::requested_op_t<Op>>.indices == index_use::reduction)
auto perform(detail::requesting_partial<Op, Word>, X&&... x) {
  return eval(detail::place_reduction<detail::requesting_partial<Op, Word>>(std::forward<X>(x)...));
}

namespace detail {
template <class S, class V, class W>
using gram_with = typename statement_with<S, result_placements_t<op::dot, V, W>>::type;
/// Are the columns of a block of `Rank` axes spread over ranks?
template <int Rank, class P>
inline constexpr bool shards_columns = false;
template <int Rank, int D, class F>
inline constexpr bool shards_columns<Rank, Shard<D, F>> = D == Rank - 1;
template <int Rank, class... P>
constexpr void require_whole_rows(placements<P...>) {
  static_assert(!(shards_columns<Rank, P> || ...), "sla: gram_of(V, W), combine(V, C), column(V, j): the columns of a block are spread over ranks; keep whole rows on a rank: Shard<0> of (N, k)");
}
} // namespace detail

/// The statement of count inner products with a basis, on a mesh.
template <int Capacity, class V, DistributedExpr X>
  requires PlacedTensor<V>
auto dots(std::vector<V> const& vectors, int count, X&& w) {
  require_well_typed<op::dot, V, std::remove_cvref_t<X>>();
  auto statement = detail::dots_of_node<Capacity>(vectors, count, detail::local_node(std::forward<X>(w)));
  return detail::gram_with<decltype(statement), V, std::remove_cvref_t<X>>{std::move(statement)};
}
/// The linear combination of a basis, on a mesh.
template <class V, class H, class Mesh, class... P>
  requires PlacedTensor<V>
auto combine(std::vector<V> const& vectors, int count, mesh_scalar<H, Mesh, P...> const& h) {
  using Coefficients = decltype(as_coefficients(h.inner));
  auto const basis = detail::view_basis<Coefficients::value_type::size()>(vectors, count, "combine(V, count, h)");
  using Node = combine_node<std::remove_const_t<decltype(basis)>, decltype(basis.shape), Coefficients>;
  return typename detail::distributed_by<Node, mesh_of_t<V>, placements_of_t<V>>::type{Node{basis, basis.shape, as_coefficients(h.inner)},
                                                                                      vectors.front().handle()};
}

/// The statement of V^H W of blocks whose rows are spread over ranks: k m numbers in the one all_reduce of the fuse.
template <int Most = 0, PlacedTensor V, PlacedTensor W>
auto gram_of(V const& v, W const& w) {
  require_well_typed<op::dot, V, W>();
  detail::require_whole_rows<V::local_type::rank>(placements_of_t<V>{});
  auto statement = gram_of<Most>(v.local(), w.local());
  return detail::gram_with<decltype(statement), V, W>{std::move(statement)};
}
namespace detail {
template <class V>
auto column_of(V& v, index_t j) {
  using D = std::remove_const_t<V>;
  require_whole_rows<D::local_type::rank>(placements_of_t<D>{});
  auto const node = column(v.local(), j);
  return typename distributed_by<std::remove_const_t<decltype(node)>, mesh_of_t<D>, placements_of_t<D>>::type{node, v.handle()};
}
} // namespace detail
/// Column j of a block whose rows are spread over ranks, as an expression; `set(column(V, j), x)` writes it.
template <PlacedTensor V>
auto column(V const& v, index_t j) { return detail::column_of(v, j); }
template <PlacedTensor V>
  requires(!std::is_const_v<V>)
auto column(V& v, index_t j) { return detail::column_of(v, j); }
/// The statement V_j = expression on a mesh. Law: equal placements, extents and partitions.
template <class T, class E, class Memory, class Mesh, class... P, DistributedExpr X>
auto set(distributed_node<writable_column<T, E, Memory>, Mesh, P...> const& to, X&& expression) {
  static_assert(has_placements<std::remove_cvref_t<X>, P...>, "sla: set(column(V, j), expression): the expression has other placements than V");
  (void)detail::common_layout(to, expression);
  auto statement = set(to.node, detail::local_node(std::forward<X>(expression)));
  return distributed_statement<decltype(statement)>{std::move(statement)};
}
/// The columns of V C, in the placements of V; C is a number of the space.
template <PlacedTensor V, class C, class Mesh, class... P>
auto combine(V const& v, mesh_scalar<C, Mesh, P...> const& c, index_t columns = -1) {
  detail::require_whole_rows<V::local_type::rank>(placements_of_t<V>{});
  auto node = combine(v.local(), c.inner, columns);
  return typename detail::distributed_by<decltype(node), mesh_of_t<V>, placements_of_t<V>>::type{std::move(node), v.handle()};
}

} // namespace sla
