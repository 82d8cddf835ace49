// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several axes of a mesh as one, `flat<"dp", "tp">`, and axes that shard one dimension in another order: the decision on
// types, and its refusals. The laws are in spmd/step/flat.hpp, what ranks do in dist/step/flat_steps.hpp.
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <utility>

#include <sla/spmd/refusal/diagnose.hpp>
#include <sla/spmd/rule/modes.hpp>
#include <sla/spmd/step/flat.hpp>

namespace sla {

namespace detail {
template <int... A>
struct several_axes; // dist/step/flat_steps.hpp
template <fixed_string... Axes, class X>
auto permuted(X const& x);
template <class X, fixed_string... Axes>
struct present_order;
} // namespace detail

/// These axes as one, the first outermost.
template <fixed_string... Axes>
struct flat {
  static_assert(sizeof...(Axes) > 0, "sla: flat<...> names at least one axis");
  using flat_tag = void; // not every compiler finds strings in a type
  template <class Mesh>
  using on = detail::several_axes<Mesh::template index<Axes>()...>;
  template <class Mesh>
  static constexpr int axes[sizeof...(Axes)] = {Mesh::template index<Axes>()...};
  template <class Mesh>
  static constexpr void require_one_mode() {
    sla::require_one_mode<Mesh, Axes...>();
  }
};

/// A step on flattened axes, and another order of those that shard a dimension, as `perform` takes them.
template <step How, class Axes, class To, bool Insisted = false, int Dim = 0>
struct flat_step_on {};
/// The order in which flattened axes cut a dimension.
template <fixed_string... Axes>
struct order_of_shards {
  using order_tag = void;
  template <class Mesh>
  static constexpr int axes[sizeof...(Axes)] = {Mesh::template index<Axes>()...};
  template <class X>
  static auto permuted(X const& x) {
    return detail::permuted<Axes...>(x);
  }
  template <class X>
  using before = typename detail::present_order<X, Axes...>::type;
};

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

/// Is the step How on Axes (a flat) legal for an X, and what are the placements then?
template <step How, class To, bool Insisted, class Axes, class X>
struct flat_step_decision {
  using Mesh = mesh_of_t<X>;
  using keys = stepped_keys<X, To>;
  static constexpr auto const& axes = Axes::template axes<Mesh>;
  static constexpr int count = static_cast<int>(std::size(axes));
  using From = placement_on_t<X, axes[0]>;
  static constexpr auto found = check_flat(How, operand_traits<X>::template value<keys>.type, axes, to_value<To, keys>(), Insisted);
  static constexpr code why = found.why.what != code::ok                                                    ? found.why.what
                              : count > 1 && (!is_flattened_evenly<From> || !is_flattened_evenly<To>) ? code::indivisible
                                                                                                      : code::ok;
  using result = typename placements_so<found.type, keys, std::make_integer_sequence<int, Mesh::rank>>::type;
  static constexpr int at = 0 > found.why.axis ? axes[0] : found.why.axis;
  static constexpr void refuse() { detail::refuse<why, facts_on<X, at, To, Axes>>(); }
};
/// The same of another order of the shards.
template <class Order, class X>
struct order_decision {
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
  static constexpr void refuse() { detail::refuse<why, facts_on<X, at, Order>>(); }
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

template <class Axes>
concept Flattened = requires {
  typename Axes::flat_tag;
};
template <class Order>
concept OrderOfShards = requires {
  typename Order::order_tag;
};
} // namespace detail

} // namespace sla
