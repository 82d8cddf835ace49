// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps by name, `all_reduce<"tp">(x)`, one definition for every kind of operand: each makes a step, a value of type step_on, and
// calls perform(step, x). Values and traced ones take it in dist/step/, outlines in spmd/schedule/, rules in spmd/rule/compose.hpp.
#pragma once

#include <concepts>
#include <type_traits>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/step/precision.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

namespace detail {
template <int... A>
struct axes_as_one; // dist/step/steps.hpp, and of several axes dist/step/flat_steps.hpp
template <class X, fixed_string... Axes>
struct present_order; // spmd/refusal/step_decision.hpp
template <fixed_string First, fixed_string...>
constexpr auto first_name() {
  return First;
}
} // namespace detail

/// These axes as one, the first outermost: `all_gather<flat<"dp", "tp">>(x)` is one collective over the ranks of both.
/// Law: all of them hold the same placement, shards are Even and lie in the order given.
template <fixed_string... Axes>
struct flat {
  static_assert(sizeof...(Axes) > 0, "sla: flat<...> names at least one axis");
  using flat_tag = void; // not every compiler finds strings in a type
  static constexpr int count = static_cast<int>(sizeof...(Axes));
  static constexpr auto first = detail::first_name<Axes...>();
  template <class Mesh>
  using on = detail::axes_as_one<Mesh::template index<Axes>()...>;
  template <class Mesh>
  static constexpr int axes[sizeof...(Axes)] = {Mesh::template index<Axes>()...};
};
namespace detail {
template <class Axes>
concept Flattened = requires {
  typename Axes::flat_tag;
};
} // namespace detail

/// A step: how, on which axes (a flat), to what; Insisted: the caller gave the tag expert; Dim: where values of a Varying are stacked.
template <step How, class Axes, class To, bool Insisted = false, int Dim = 0>
struct step_on {
  using step_tag = void;
  static constexpr step how = How;
  using axes = Axes;
  static constexpr auto axis = Axes::first;
  using to = To;
  static constexpr bool insisted = Insisted;
  static constexpr int dim = Dim;
};
/// A step on one axis.
template <step How, fixed_string Axis, class To, bool Insisted = false, int Dim = 0>
using step_along = step_on<How, flat<Axis>, To, Insisted, Dim>;
/// Overloads take any step by this concept: nvcc does not deduce a string out of a type.
template <class S>
concept StepOn = requires { typename S::step_tag; };
/// A step that does not wait, one in other numbers (wire<T>, out<T>, bwd<...>), and one whose call states what the operand holds.
template <StepOn S>
struct begin_step {};
/// A step in other numbers: `Options` are wire<T>, out<T> and bwd<...>.
template <StepOn S, class... Options>
struct step_in {};
/// A step whose call states the placement of the operand.
template <class From, class S>
struct step_from {};
/// The order in which flattened axes are to cut a dimension: a step too.
template <fixed_string... Axes>
struct order_of_shards {
  using order_tag = void;
  template <class Mesh>
  static constexpr int axes[sizeof...(Axes)] = {Mesh::template index<Axes>()...};
  template <class X>
  using before = typename detail::present_order<X, Axes...>::type;
};
/// The matrix whose halo a step exchanges.
template <class D>
struct halo_of {
  D const& matrix;
};

namespace detail {
/// What a step is taken on: the distributed value that an expression evaluates to, or that is traced.
template <class X>
struct stepping {
  using type = X;
};
template <class X>
  requires requires { typename X::plain_type; }
struct stepping<X> {
  using type = typename X::plain_type;
};
template <class X>
using stepping_t = typename stepping<X>::type;
template <class X, fixed_string Axis>
inline constexpr bool is_invariant_along = false;
template <Distributed X, fixed_string Axis>
inline constexpr bool is_invariant_along<X, Axis> = std::same_as<placement_along_t<X, Axis>, Invariant>;

} // namespace detail

// The options of a call as steps of their own; what else is given (a layout, a matrix, splits) goes along.
template <StepOn S, class X>
constexpr auto perform(S, X const& x, expert_t) {
  return perform(step_on<S::how, typename S::axes, typename S::to, true, S::dim>{}, x);
}
template <StepOn S, class X>
constexpr auto perform(S, X const& x, async_t) {
  return perform(begin_step<S>{}, x);
}
template <StepOn S, class X, detail::PrecisionOption... O>
  requires(sizeof...(O) > 0)
constexpr auto perform(S, X const& x, O const&...) {
  return perform(step_in<S, O...>{}, x);
}

// A call may state the source too, `all_gather<"tp", Shard<0>, Replicate>(x)`: then a value that lies otherwise is refused. Options
// come last. `async`: the step does not wait. `wire<T>{}, out<T>{}, bwd<...>{}`: what travels is the wire's, else in a reduction the
// operand's, else the lower of operand and out; what comes out is the out's, else the wire's, else the operand's; gradients go by bwd.

/// The fold of what the ranks of an axis hold, on all of them. Placement: Partial to Replicate (or Invariant); a
/// Varying only as a stated source, all_reduce<axis, Varying, Replicate>(v): each rank holds a contribution. Gradient:
/// to Replicate an all_reduce, to Invariant nothing. Cost: one all_reduce of the local size.
template <fixed_string Axis, Placement To = Replicate, class X, class... O>
constexpr auto all_reduce(X const& x, O const&... options) {
  return perform(step_along<step::all_reduce, Axis, To>{}, x, options...);
}
template <fixed_string Axis, Placement From, Placement To, class X, class... O>
constexpr auto all_reduce(X const& x, O const&... options) {
  return perform(step_from<From, step_along<step::all_reduce, Axis, To>>{}, x, options...);
}
template <detail::Flattened Axes, Placement To = Replicate, class X, class... O>
constexpr auto all_reduce(X const& x, O const&... options) {
  return perform(step_on<step::all_reduce, Axes, To>{}, x, options...);
}

/// The whole of what an axis shards, on all its ranks, in the original order; of a Varying, all values side by side
/// along a new dimension Dim. Placement: Shard, Ghost or Varying to Replicate (or Invariant). Gradient: to Replicate a
/// reduce_scatter, to Invariant a cut. Cost: one all_gather. Law: a Varying has the same extents on all ranks.
template <fixed_string Axis, Placement To = Replicate, int Dim = 0, class X, class... O>
constexpr auto all_gather(X const& x, O const&... options) {
  return perform(step_along<step::all_gather, Axis, To, false, Dim>{}, x, options...);
}
template <fixed_string Axis, Placement From, Placement To, int Dim = 0, class X, class... O>
constexpr auto all_gather(X const& x, O const&... options) {
  return perform(step_from<From, step_along<step::all_gather, Axis, To, false, Dim>>{}, x, options...);
}
template <detail::Flattened Axes, Placement To = Replicate, int Dim = 0, class X, class... O>
constexpr auto all_gather(X const& x, O const&... options) {
  return perform(step_on<step::all_gather, Axes, To, false, Dim>{}, x, options...);
}

/// This rank's part of the fold. Placement: Partial to Shard<d, F>, or to Varying: dimension Dim has an index for each
/// rank, and goes. To the partition of a layout, found at run time: `reduce_scatter<"rows", Shard<0, Part<>>>(x, D.row_layout())`.
/// Gradient: an all_gather. Cost: one reduce_scatter. Errors: shape_error, if the family cannot shard the dimension out.
template <fixed_string Axis, Placement To, int Dim = 0, class X, class... O>
constexpr auto reduce_scatter(X const& x, O const&... options) {
  return perform(step_along<step::reduce_scatter, Axis, To, false, Dim>{}, x, options...);
}
template <fixed_string Axis, Placement From, Placement To, int Dim = 0, class X, class... O>
constexpr auto reduce_scatter(X const& x, O const&... options) {
  return perform(step_from<From, step_along<step::reduce_scatter, Axis, To, false, Dim>>{}, x, options...);
}
template <fixed_string Axis, int Dim, class X, class... O>
constexpr auto reduce_scatter(X const& x, O const&... options) {
  return perform(step_along<step::reduce_scatter, Axis, Shard<Dim>>{}, x, options...);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, class X, class... O>
constexpr auto reduce_scatter(X const& x, O const&... options) {
  return perform(step_on<step::reduce_scatter, Axes, To, false, Dim>{}, x, options...);
}

namespace detail {
template <class X>
constexpr X const& refuse_without_result(X const& x) {
  static_assert(always_false<X>, "sla: reduce_scatter<axis, To>(x), all_to_all<axis, To>(x): name after the axis how the result lies, as reduce_scatter<\"tp\", Shard<0>>(x)");
  return x;
}
} // namespace detail
/// Without the placement of the result, which is refused by a sentence.
template <fixed_string Axis, class X>
constexpr X const& reduce_scatter(X const& x) {
  return detail::refuse_without_result(x);
}
template <fixed_string Axis, class X>
constexpr X const& all_to_all(X const& x) {
  return detail::refuse_without_result(x);
}

/// Another dimension is sharded, Shard<i> to Shard<j>; within one dimension, Shard<i> to Shard<i, Strided<ranks>>,
/// each rank gets its piece of every part. Of a Varying whose first dimension has an index for each rank: y[s] on rank
/// r is x[r] on rank s; with a table of rows, `splits`, rows go where it says. Gradient: the all_to_all back. Cost: one all_to_all.
template <fixed_string Axis, Placement To, class X, class... O>
constexpr auto all_to_all(X const& x, O const&... options) {
  return perform(step_along<step::all_to_all, Axis, To>{}, x, options...);
}
template <fixed_string Axis, Placement From, Placement To, class X, class... O>
constexpr auto all_to_all(X const& x, O const&... options) {
  return perform(step_from<From, step_along<step::all_to_all, Axis, To>>{}, x, options...);
}
template <detail::Flattened Axes, Placement To, class X, class... O>
constexpr auto all_to_all(X const& x, O const&... options) {
  return perform(step_on<step::all_to_all, Axes, To>{}, x, options...);
}

/// The same dimension, sharded by another family: Shard<d, F> to Shard<d, G>; a partition found at run time is that of a layout,
/// `repartition<"rows", Shard<0, Part<>>>(x, D.row_layout())`. Of a sparse tensor the rows, each on its owner in a layout or by a
/// partitioner that needs no pattern, equal_rows{}: SparseShard<0, P> to SparseShard<0, Q>; the columns of a square one follow.
/// Gradient: the repartition back. Cost: one all_to_all. Errors: shape_error, if G cannot shard the dimension.
template <fixed_string Axis, Placement To, class X, class... O>
constexpr auto repartition(X const& x, O const&... options) {
  return perform(step_along<step::repartition, Axis, To>{}, x, options...);
}
template <fixed_string Axis, Placement From, Placement To, class X, class... O>
constexpr auto repartition(X const& x, O const&... options) {
  return perform(step_from<From, step_along<step::repartition, Axis, To>>{}, x, options...);
}

/// The same value in another placement, without communication; what every rank has, also sharded by the partition of a layout,
/// `convert<"rows", Shard<0, Part<>>>(x, D.row_layout())`. Dim: where values of a Varying are side by side.
/// Gradient: that of the table in spmd/step/transition.hpp.
template <fixed_string Axis, Placement To, int Dim = 0, class X, class... O>
constexpr auto convert(X const& x, O const&... options) {
  return perform(step_along<step::convert, Axis, To, false, Dim>{}, x, options...);
}
template <fixed_string Axis, Placement From, Placement To, class X, class... O>
constexpr auto convert(X const& x, O const&... options) {
  return perform(step_from<From, step_along<step::convert, Axis, To>>{}, x, options...);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, class X, class... O>
constexpr auto convert(X const& x, O const&... options) {
  return perform(step_on<step::convert, Axes, To, false, Dim>{}, x, options...);
}

/// What each rank holds, with another meaning: the value changes. An Invariant becomes a Replicate first.
template <fixed_string Axis, Placement To, class X, class... O>
constexpr auto reinterpret(X const& x, O const&... options) {
  if constexpr (sizeof...(O) == 0 && !is_copied(To::kind) && detail::is_invariant_along<detail::stepping_t<X>, Axis>)
    return perform(step_along<step::reinterpret, Axis, To, true>{}, perform(step_along<step::convert, Axis, Replicate>{}, x));
  else
    return perform(step_along<step::reinterpret, Axis, To>{}, x, options...);
}

/// The sum of all ranks' terms of a sparse tensor: the patterns are united, and values that meet in one entry are added, those of
/// rank 0 first. Placement: Partial to Replicate, Invariant, or SparseShard<0>, whose rows are sharded by equal_rows, or as given: a
/// partitioner that needs no pattern, or D.row_layout(). Gradient: each rank gets the entries of its own pattern. Law: all ranks
/// have the same global shape. Cost: each entry travels once (to Replicate: to every rank).
template <fixed_string Axis, Placement To, class X, class... O>
constexpr auto assemble(X const& x, O const&... options) {
  return perform(step_along<step::assemble, Axis, To>{}, x, options...);
}

/// The named axes, which shard one dimension evenly, take each other's places: Axes is their new order, outermost
/// first. Placement: levels of Shard<d, Even, level>. Gradient: the order before. Cost: each rank sends its part to one
/// rank.
template <fixed_string... Axes, class X>
constexpr auto permute_shards(X const& x) {
  return perform(order_of_shards<Axes...>{}, x);
}

/// This rank's part, and copies of what its rows of D read of others: own entries first, then ghosts. Pattern names the
/// halo, so that values with one meet only those with the same. Placement: Shard<d, Part<>> to Ghost<d, Part<>,
/// Pattern>. Gradient: halo_reduce. Cost: one message to and from each neighbour. Errors: shape_error, if x lies
/// otherwise than D's columns.
template <fixed_string Axis, fixed_string Pattern = "", class X, class D>
constexpr auto halo_exchange(X const& x, D const& d) {
  using To = detail::ghost_of<placement_along_t<detail::stepping_t<X>, Axis>, Pattern>;
  return perform(step_along<step::halo_exchange, Axis, To>{}, x, halo_of<D>{d});
}
template <fixed_string Axis, fixed_string Pattern = "", class X, class D>
constexpr auto halo_exchange(X const& x, D const& d, async_t) {
  using To = detail::ghost_of<placement_along_t<detail::stepping_t<X>, Axis>, Pattern>;
  return perform(begin_step<step_along<step::halo_exchange, Axis, To>>{}, x, halo_of<D>{d});
}
/// The owners' entries, with what other ranks hold for them added. Placement: GhostP to Shard. Gradient: halo_exchange.
/// Cost: one message to and from each neighbour.
template <fixed_string Axis, class X, class... O>
constexpr auto halo_reduce(X const& x, O const&... options) {
  return perform(step_along<step::halo_reduce, Axis, detail::shard_of<placement_along_t<detail::stepping_t<X>, Axis>>>{}, x, options...);
}
/// Own entries without the halo. Placement: Ghost to Shard. Gradient: GhostP with zeros for the ghosts. Cost: a copy.
template <fixed_string Axis, class X>
constexpr auto owned(X const& x) {
  return perform(step_along<step::convert, Axis, detail::shard_of<placement_along_t<detail::stepping_t<X>, Axis>>>{}, x);
}
/// What this rank's rows of D read, out of the whole. Placement: Replicate to Ghost<d, Part<>, Pattern>, where
/// dimension d of x is that of D's columns. Gradient: embed. Cost: a copy.
template <fixed_string Axis, fixed_string Pattern = "", int Dim = 0, class X, class D>
constexpr auto restrict_to(X const& x, D const& d) {
  using Rows = placement_along_t<detail::stepping_t<D>, Axis>;
  return perform(step_along<step::convert, Axis, Ghost<Dim, typename Rows::family, Pattern>>{}, x, halo_of<D>{d});
}
/// Contributions in the whole, zeros elsewhere. Placement: GhostP to Partial. Gradient: restrict_to. Cost: a copy.
template <fixed_string Axis, class X>
constexpr auto embed(X const& x) {
  return perform(step_along<step::convert, Axis, Partial<>>{}, x);
}

} // namespace sla
