// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives and conversions of distributed tensors by name: `all_reduce<"tp">(x)`, `all_gather<"tp">(x)`,
// `reduce_scatter<"tp", Shard<0>>(x)`, `all_to_all<"tp", Shard<1>>(x)`, `convert<"tp", P>(x)`. Their laws and adjoints
// are in spmd/step/transition.hpp, what they do in dist/step/steps.hpp; halos are in dist/step/halo_steps.hpp.
#pragma once

#include <sla/spmd/refusal/diagnose.hpp>

#include <sla/dist/step/steps.hpp>

namespace sla {

namespace detail {
/// x as a pending sum of what the ranks hold, where the call says that this is meant.
template <fixed_string Axis, class From, class X>
decltype(auto) contributions(X const& x) {
  require_source<Axis, From, X>();
  if constexpr (std::same_as<From, Varying> && std::same_as<placement_along_t<stepping_t<X>, Axis>, Varying>)
    return perform(step_on<step::reinterpret, Axis, Partial<>>{}, x);
  else
    return (x);
}
} // namespace detail

// A call may state the source too, `all_gather<"tp", Shard<0>, Replicate>(x)`: then a value that lies otherwise is
// refused.

/// The fold of what the ranks of an axis hold, on all of them. Placement: Partial to Replicate (or Invariant); a
/// Varying only as a stated source, all_reduce<axis, Varying, Replicate>(v): each rank holds a contribution. Gradient:
/// to Replicate an all_reduce, to Invariant nothing. Cost: one all_reduce of the local size.
template <fixed_string Axis, Placement To = Replicate, Stepping X>
auto all_reduce(X const& x) {
  return perform(step_on<step::all_reduce, Axis, To>{}, x);
}
template <fixed_string Axis, Placement From, Placement To, Stepping X>
auto all_reduce(X const& x) {
  return perform(step_on<step::all_reduce, Axis, To>{}, detail::contributions<Axis, From>(x));
}

/// Without an axis, which is refused by a sentence.
template <Stepping X>
auto all_reduce(X const& x) {
  static_assert(always_false<X>, "sla: all_reduce<axis>(x): name the axis of the mesh along which the ranks' parts are folded, as all_reduce<\"rows\">(x)");
  return eval(x);
}
template <Stepping X>
auto all_gather(X const& x) {
  static_assert(always_false<X>, "sla: all_gather<axis>(x): name the axis of the mesh whose ranks' parts are gathered, as all_gather<\"rows\">(x); gather(x) "
                                 "gathers along all axes");
  return eval(x);
}

/// The whole of what an axis shards, on all its ranks, in the original order; of a Varying, all values side by side
/// along a new dimension Dim. Placement: Shard, Ghost or Varying to Replicate (or Invariant). Gradient: to Replicate a
/// reduce_scatter, to Invariant a cut. Cost: one all_gather. Law: a Varying has the same extents on all ranks.
template <fixed_string Axis, Placement To = Replicate, int Dim = 0, Stepping X>
auto all_gather(X const& x) {
  return perform(step_on<step::all_gather, Axis, To, false, Dim>{}, x);
}
template <fixed_string Axis, Placement From, Placement To, int Dim = 0, Stepping X>
auto all_gather(X const& x) {
  detail::require_source<Axis, From, X>();
  return perform(step_on<step::all_gather, Axis, To, false, Dim>{}, x);
}

/// This rank's part of the fold. Placement: Partial to Shard<d, F>, or to Varying: dimension Dim has an index for each
/// rank, and goes. Gradient: an all_gather. Cost: one reduce_scatter. Errors: shape_error, if the family cannot shard
/// the dimension out.
template <fixed_string Axis, Placement To, int Dim = 0, Stepping X>
auto reduce_scatter(X const& x) {
  return perform(step_on<step::reduce_scatter, Axis, To, false, Dim>{}, x);
}
template <fixed_string Axis, Placement From, Placement To, int Dim = 0, Stepping X>
auto reduce_scatter(X const& x) {
  return perform(step_on<step::reduce_scatter, Axis, To, false, Dim>{}, detail::contributions<Axis, From>(x));
}
/// The same to the partition of a layout, found at run time: `reduce_scatter<"rows", Shard<0, Part<>>>(x, D.row_layout())`.
template <fixed_string Axis, Placement To, Stepping X, class Mesh, class... P>
auto reduce_scatter(X const& x, vector_layout<Mesh, P...> const& layout) {
  return perform(step_on<step::reduce_scatter, Axis, To>{}, x, layout.handle());
}
template <fixed_string Axis, int Dim, Stepping X>
auto reduce_scatter(X const& x) {
  return perform(step_on<step::reduce_scatter, Axis, Shard<Dim>>{}, x);
}

/// Another dimension is sharded, Shard<i> to Shard<j>; within one dimension, Shard<i> to Shard<i, Strided<ranks>>,
/// each rank gets its piece of every part. Of a Varying whose first dimension has an index for each rank: y[s] on rank
/// r is x[r] on rank s. Gradient: the all_to_all back. Cost: one all_to_all.
template <fixed_string Axis, Placement To, Stepping X>
auto all_to_all(X const& x) {
  return perform(step_on<step::all_to_all, Axis, To>{}, x);
}
template <fixed_string Axis, Placement From, Placement To, Stepping X>
auto all_to_all(X const& x) {
  detail::require_source<Axis, From, X>();
  return perform(step_on<step::all_to_all, Axis, To>{}, x);
}

/// The same dimension, sharded by another family: Shard<d, F> to Shard<d, G>. Gradient: the repartition back. Cost:
/// one all_to_all. Errors: shape_error, if G cannot shard the dimension.
template <fixed_string Axis, Placement To, Stepping X>
auto repartition(X const& x) {
  return perform(step_on<step::repartition, Axis, To>{}, x);
}
template <fixed_string Axis, Placement From, Placement To, Stepping X>
auto repartition(X const& x) {
  detail::require_source<Axis, From, X>();
  return perform(step_on<step::repartition, Axis, To>{}, x);
}
/// The same to a partition found at run time, that of a layout: `repartition<"rows", Shard<0, Part<>>>(x,
/// D.row_layout())`.
template <fixed_string Axis, Placement To, Stepping X, class Mesh, class... P>
auto repartition(X const& x, vector_layout<Mesh, P...> const& layout) {
  return perform(step_on<step::repartition, Axis, To>{}, x, layout.handle());
}

/// The same value in another placement, without communication. Dim: where values of a Varying are side by side.
/// Gradient: that of the table in spmd/step/transition.hpp.
template <fixed_string Axis, Placement To, int Dim = 0, Stepping X>
auto convert(X const& x) {
  return perform(step_on<step::convert, Axis, To, false, Dim>{}, x);
}
template <fixed_string Axis, Placement To, int Dim = 0, Stepping X>
auto convert(X const& x, expert_t) {
  return perform(step_on<step::convert, Axis, To, true, Dim>{}, x);
}
template <fixed_string Axis, Placement From, Placement To, Stepping X>
auto convert(X const& x) {
  detail::require_source<Axis, From, X>();
  return perform(step_on<step::convert, Axis, To>{}, x);
}
/// What every rank has, sharded by the partition of a layout: `convert<"rows", Shard<0, Part<>>>(x, D.row_layout())`.
template <fixed_string Axis, Placement To, Stepping X, class Mesh, class... P>
auto convert(X const& x, vector_layout<Mesh, P...> const& layout) {
  return perform(step_on<step::convert, Axis, To>{}, x, layout.handle());
}

/// What each rank holds, with another meaning: the value changes. An Invariant becomes a Replicate first.
template <fixed_string Axis, Placement To, Stepping X>
auto reinterpret(X const& x) {
  constexpr bool invariant = std::same_as<placement_along_t<detail::stepping_t<X>, Axis>, Invariant>;
  if constexpr (invariant && !std::same_as<To, Replicate> && !std::same_as<To, Invariant>)
    return perform(step_on<step::reinterpret, Axis, To, true>{}, perform(step_on<step::convert, Axis, Replicate>{}, x));
  else
    return perform(step_on<step::reinterpret, Axis, To>{}, x);
}
template <fixed_string Axis, Placement To, Stepping X>
auto reinterpret(X const& x, expert_t) {
  return perform(step_on<step::reinterpret, Axis, To, true>{}, x);
}

} // namespace sla
