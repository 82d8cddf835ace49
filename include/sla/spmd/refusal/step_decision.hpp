// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decision on a step, on types, and its refusals: on one axis, on several as one, and of axes that shard one dimension in
// another order. The laws are in spmd/step/transition.hpp and spmd/step/flat.hpp, what ranks do in dist/step/steps.hpp.
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <utility>

#include <sla/spmd/refusal/diagnose.hpp>
#include <sla/spmd/rule/modes.hpp>
#include <sla/spmd/step/flat.hpp>
#include <sla/spmd/step/named_steps.hpp>

namespace sla {

namespace detail {
template <class P>
inline constexpr bool is_flattened_evenly = true; // what is sharded otherwise does not nest
template <class P>
requires(is_sharded(P::kind)) inline constexpr bool is_flattened_evenly<P> = std::same_as<typename P::family, Even>;

/// The placements of a tensor's placements, as a list.
template <tensor_placement T, class Keys, class Numbers>
struct placements_so;
template <tensor_placement T, class Keys, int... A>
struct placements_so<T, Keys, std::integer_sequence<int, A...>> {
  using type = placements<placement_at<T.on[A], Keys>...>;
};
template <class X, class... To>
using stepped_keys = typename joined_keys<placements_of_t<X>, placements<To...>>::type;

/// What the refusals of several axes name.
template <class X, int Axis, class... Facts>
using facts_on = type_list<Facts..., operand_is<0, placement_on_t<X, Axis>>,
                           on_axis<mesh_of_t<X>::template name_string<Axis>()>>;

/// Is the step S legal for an X, and what are the placements then?
template <class S, class X>
struct step_decision {
  static constexpr step how = S::how; // g++ 12 takes members in a concept's arguments for types
  static constexpr auto name = S::axis;
  static constexpr bool insisted = S::insisted;
  using Mesh = mesh_of_t<X>;
  using To = typename S::to;
  static constexpr int at = Mesh::template index<name>();
  using From = placement_on_t<X, at>;
  using result = typename replaced<at, To, placements_of_t<X>>::type;
  static constexpr bool legal = legal_step<how, X, name, To, insisted>;
  static constexpr void require() {
    if constexpr (Mesh::find(name.view()) == at && !legal) {
      using refusal = step_refusal<how, std::remove_cvref_t<X>, at, To, insisted>;
      if constexpr (refusal::why.what == code::expert_only)
        refuse_without_insisting<From::kind, To::kind, typename refusal::facts>();
      else
        refuse<refusal::why.what, typename refusal::facts>();
    }
  }
};
/// The same on several axes as one.
template <class S, class X>
  requires(S::axes::count > 1)
struct step_decision<S, X> {
  using Mesh = mesh_of_t<X>;
  using To = typename S::to;
  using keys = stepped_keys<X, To>;
  static constexpr auto const& axes = S::axes::template axes<Mesh>;
  using From = placement_on_t<X, axes[0]>;
  static constexpr auto found = check_flat(S::how, operand_traits<X>::template value<keys>.type, axes, to_value<To, keys>(), S::insisted);
  static constexpr bool even = is_flattened_evenly<From> && is_flattened_evenly<To>;
  static constexpr code why = found.why.what != code::ok || even ? found.why.what : code::indivisible;
  static constexpr bool legal = why == code::ok;
  using result = typename placements_so<found.type, keys, std::make_integer_sequence<int, Mesh::rank>>::type;
  static constexpr int at = 0 > found.why.axis ? axes[0] : found.why.axis;
  static constexpr void require() {
    static_assert(one_mode<Mesh>(axes), "sla[E36]: a flattened axis of local and global axes: on the first the ranks run programs of their own. Take one step on each axis");
    if constexpr (!legal) refuse<why, facts_on<X, at, To, typename S::axes>>();
  }
};
/// The same of another order of the shards.
template <class Order, class X>
  requires requires { typename Order::order_tag; }
struct step_decision<Order, X> {
  using Mesh = mesh_of_t<X>;
  using keys = stepped_keys<X>;
  static constexpr auto const& axes = Order::template axes<Mesh>;
  static constexpr auto found = check_order(operand_traits<X>::template value<keys>.type, axes);
  template <int... N>
  static constexpr bool are_even(std::integer_sequence<int, N...>) {
    return (is_flattened_evenly<placement_on_t<X, axes[N]>> && ...);
  }
  static constexpr code why = found.why.what != code::ok                                                              ? found.why.what
                              : are_even(std::make_integer_sequence<int, static_cast<int>(std::size(axes))>()) ? code::ok
                                                                                                               : code::indivisible;
  using result = typename placements_so<found.type, keys, std::make_integer_sequence<int, Mesh::rank>>::type;
  static constexpr int at = 0 > found.why.axis ? axes[0] : found.why.axis;
  static constexpr bool legal = why == code::ok;
  static constexpr void require() {
    if constexpr (!legal) refuse<why, facts_on<X, at, Order>>();
  }
};

/// The named axes in the order in which they shard their dimension now.
template <class X, fixed_string... Axes>
struct present_order {
  using Mesh = mesh_of_t<X>;
  static constexpr int axes[sizeof...(Axes)] = {Mesh::template index<Axes>()...};
  static constexpr auto found = check_order(operand_traits<X>::template value<stepped_keys<X>>.type, axes);
  static constexpr auto list = [] {
    fixed_array<int, int(sizeof...(Axes))> out{};
    int at = 0;
    for (int n = 0; n < found.old.count; ++n)
      for (int a : axes)
        if (a == found.old.axis[n] && at < int(sizeof...(Axes))) out[at++] = a;
    return out;
  }();
  template <int... N>
  static auto type_of(std::integer_sequence<int, N...>) {
    return order_of_shards<Mesh::template name_string<list[N]>()...>{};
  }
  using type = decltype(type_of(std::make_integer_sequence<int, int(sizeof...(Axes))>{}));
};

template <class Order>
concept OrderOfShards = requires { typename Order::order_tag; };
} // namespace detail

/// The law of the collectives and conversions: nothing if the step may be taken on the axis Name of a T, else one
/// error.
template <step How, class T, fixed_string Name, Placement To, bool Insisted = false>
constexpr void require_step() {
  detail::step_decision<step_along<How, Name, To, Insisted>, T>::require();
}

/// A step whose call states what the operand holds: what holds something else is refused. A stated Varying holds contributions.
template <class From, class S, class X, class... O>
constexpr auto perform(step_from<From, S>, X const& x, O const&... options) {
  constexpr auto name = S::axis;
  using Is = placement_along_t<detail::stepping_t<X>, name>;
  if constexpr (!std::same_as<Is, From>) detail::refuse<code::wrong_collective, detail::type_list<From, operand_is<0, Is>, on_axis<name>>>();
  if constexpr (std::same_as<Is, Varying> && std::same_as<From, Varying> && detail::is_reduction(S::how))
    return perform(S{}, perform(step_on<step::reinterpret, typename S::axes, Partial<>>{}, x), options...);
  else
    return perform(S{}, x, options...);
}

} // namespace sla
