// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed tensors out of nothing: `zeros<double>(mesh, {n})`, `full`, `arange`, `eye`, `zeros_like(x)`, `random<double>(mesh, {n},
// seed)`, and `distribute_as<spec<unsharded, "tp">, Replicate>(x, mesh)`. Zeros in stated placements are `distributed<...>::zeros`.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/value/scalars.hpp>
#include <sla/dist/view/assume.hpp>
#include <sla/tensor/algebra/diagonal.hpp>

namespace sla {

namespace op {
/// A tensor made from numbers: not linear in them.
struct fill {};
} // namespace op
template <>
inline constexpr op_rule rule_of<op::fill>{};

/// `distributed<Local, Mesh, ...>` with the placements that are meant: `distributed_as<matrix<double>, Mesh, spec<unsharded, "tp">, Replicate>`.
template <class Local, class Mesh, class... What>
using distributed_as = typename detail::distributed_with<Local, Mesh, placements_on_t<Mesh, local_dims<Local>::rank, What...>>::type;

/// `distribute` with the placements said by dimension, by axis or by default. Law, cost and errors: those of distribute and of the
/// specification.
template <class... What, class T, class E, class Memory, class Mesh>
  requires(sizeof...(What) > 0 && is_mesh<Mesh>)
auto distribute_as(tensor<T, E, Memory> const& x, Mesh const& m) {
  return [&]<class... P>(placements<P...>) { return distribute<P...>(x, m); }(placements_on_t<Mesh, E::rank, What...>{});
}

namespace detail {

/// A value that all ranks make alike.
template <class Mesh, class Local>
auto replicated(Mesh const& m, Local local) {
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  using List = placements_on_t<Mesh, 0, Replicate>;
  return typename distributed_with<Local, Mesh, List>::type(std::move(local), std::move(layout));
}

/// A local tensor made with a typed scalar, in the placements that this gives it.
template <class S, class Local>
auto made_with(S const& s, Local local) {
  require_well_typed<op::fill, S>();
  return result_t<Local, op::fill, S>(std::move(local), layout_of(s));
}

/// The placement of zeros_like(x): a Shard stays a Shard, GhostP becomes Ghost, and all others become Replicate.
template <class P>
using like_placement = std::conditional_t<P::kind == placement_kind::ghost_partial, typename P::dual, std::conditional_t<is_sharded(P::kind), P, Replicate>>;
template <class X>
struct like_list;
template <class Local, class Mesh, class... P>
struct like_list<distributed<Local, Mesh, P...>> {
  using constant = distributed<Local, Mesh, like_placement<P>...>;
  using drawn = distributed<Local, Mesh, std::conditional_t<true, Untyped, P>...>;
};

} // namespace detail

/// Tensors of one number, whole on every rank. Placement: Replicate on every axis.
template <class T, class E = Extents<dyn>, class... Axes>
auto zeros(mesh<Axes...> const& m, std::type_identity_t<E> extents) {
  return detail::replicated(m, zeros<T, E>(extents));
}
template <class T, class E = Extents<dyn>, class... Axes>
auto ones(mesh<Axes...> const& m, std::type_identity_t<E> extents) {
  return detail::replicated(m, ones<T, E>(extents));
}
template <class T, class E = Extents<dyn>, class... Axes>
auto full(mesh<Axes...> const& m, std::type_identity_t<E> extents, std::type_identity_t<literal<T>> value) {
  return detail::replicated(m, full<T, E>(extents, value.value()));
}
template <class T, class E = Extents<dyn>, class... Axes>
auto full(mesh<Axes...> const& m, std::type_identity_t<E> extents, uniform_number<T> value) {
  return detail::replicated(m, full<T, E>(extents, value.value()));
}
/// The same of a typed scalar. Placement: that of the scalar; a pending reduction is refused. Gradient: none.
template <class T, class E = Extents<dyn>, DistributedNumber S>
auto full(std::type_identity_t<E> extents, S const& value) {
  return detail::made_with(eval(value), full<T, E>(extents, T(eval(value).local())));
}

/// 0, 1, ..., count - 1. Placement: Replicate.
template <class T, class... Axes>
auto arange(mesh<Axes...> const& m, index_t count) {
  vector<T> x(Extents<dyn>(count), uninitialized);
  for (index_t n = 0; n < count; ++n) x[n] = T(n);
  return detail::replicated(m, std::move(x));
}
/// first, first + 1, ... of a typed scalar. Placement: that of the scalar: from `rank_along` it is Varying.
template <class T, DistributedNumber S>
auto arange(S const& first, index_t count) {
  auto const begin = eval(first);
  vector<T> x(Extents<dyn>(count), uninitialized);
  for (index_t n = 0; n < count; ++n) x[n] = T(begin.local()) + T(n);
  return detail::made_with(begin, std::move(x));
}
/// count numbers at equal distances, the first and the last of them as given. Placement: Replicate. Law: count is at least 2.
template <class T, class... Axes>
auto linspace(mesh<Axes...> const& m, std::type_identity_t<literal<T>> first, std::type_identity_t<literal<T>> last, index_t count) {
  return detail::replicated(m, linspace<T>(first.value(), last.value(), count));
}
/// The identity of n rows, sparse. Placement: Replicate.
template <class T, class... Axes>
auto eye(mesh<Axes...> const& m, index_t n) {
  return detail::replicated(m, eye<T>(n));
}

/// One number in the shape of another tensor. Placement: shards stay, since the shape is their part's; GhostP
/// becomes Ghost, all else Replicate.
template <DistributedTensor X>
auto full_like(X const& x, std::type_identity_t<literal<typename X::value_type>> value) {
  using E = typename X::local_type::extents_type;
  return typename detail::like_list<X>::constant(full<typename X::value_type, E>(x.local().extents(), value.value()), x.handle());
}
template <DistributedTensor X>
auto zeros_like(X const& x) {
  return full_like(x, 0);
}
template <DistributedTensor X>
auto ones_like(X const& x) {
  return full_like(x, 1);
}

/// Numbers drawn at random, and memory that nobody wrote. Placement: Untyped, until `assume` says what the ranks hold.
template <class T, class E = Extents<dyn>, class... Axes>
auto random(mesh<Axes...> const& m, std::type_identity_t<E> extents, std::uint64_t seed) {
  return untyped(m, random<T, E>(extents, seed));
}
template <class T, class E = Extents<dyn>, class... Axes>
auto empty(mesh<Axes...> const& m, std::type_identity_t<E> extents) {
  return untyped(m, tensor<T, E>(extents, uninitialized));
}
/// The same in the shape of another tensor, whatever that holds.
template <DistributedTensor X>
auto random_like(X const& x, std::uint64_t seed) {
  using E = typename X::local_type::extents_type;
  return typename detail::like_list<X>::drawn(random<typename X::value_type, E>(x.local().extents(), seed), x.handle());
}

} // namespace sla
