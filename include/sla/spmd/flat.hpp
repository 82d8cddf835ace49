// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several axes of a mesh as one, `flat<"dp", "tp">`, and axes that deal out one dimension in another order: which steps are
// legal, and what placements they leave. They are carried out in dist/flat.hpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include <sla/spmd/diagnose.hpp>
#include <sla/spmd/modes.hpp>
#include <sla/spmd/order.hpp>
#include <sla/spmd/transition.hpp>

namespace sla {

namespace detail {
template <int... A>
struct several_axes; // dist/flat.hpp
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

/// A step on flattened axes, and another order of those that deal out a dimension, as `perform` takes them.
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
struct flat_result {
  typing type{};
  diagnostic why{};
};
/// A step on several axes at once: all hold the same placement; shards are the innermost of their dimension, in the
/// order given.
constexpr flat_result check_flat(step how, typing const& t, std::span<int const> axes, placed to, bool insisted) {
  flat_result out{t, {}};
  auto const refused = [&](code what, int a) { return flat_result{t, {what, std::int8_t(a), 0}}; };
  placed from = t.on[axes[0]];
  from.level = to.level = 0;
  for (int a : axes) {
    placed mine = t.on[a];
    mine.level = 0;
    if (mine != from) return refused(code::wrong_collective, a);
    if (auto const why = check(transition{how, from, to}, insisted); why != code::ok) return refused(why, a);
    out.type.on[a] = to;
  }
  auto const count = int(axes.size());
  if (from.kind == placement_kind::shard) {
    auto order = shards_of(t, from.dim);
    order.count -= count;
    for (int k = 0; k < count; ++k)
      if (order.axis[order.count + k] != axes[std::size_t(k)]) return refused(code::not_innermost, axes[std::size_t(k)]);
    set_levels(out.type, order);
  }
  if (to.kind == placement_kind::shard) {
    typing others = t;
    for (int a : axes) others.on[a] = {placement_kind::replicate};
    auto order = shards_of(others, to.dim);
    for (int a : axes) order.add(a);
    set_levels(out.type, order);
  }
  if (auto const why = check_placements(out.type); why.what != code::ok) out.why = why;
  return out;
}
/// The order of the axes of a dimension when those named take each other's places.
struct new_order {
  dim_axes old{}, now{};
  typing type{};
  diagnostic why{};
};
constexpr new_order check_order(typing const& t, std::span<int const> axes) {
  new_order out;
  out.type = t;
  auto const lead = t.on[axes[0]];
  if (lead.kind != placement_kind::shard) return out.why = {code::wrong_collective, std::int8_t(axes[0]), 0}, out;
  out.old = shards_of(t, lead.dim);
  std::size_t next = 0;
  for (int n = 0; n < out.old.count; ++n) {
    bool moves = false;
    for (int a : axes) moves = moves || a == out.old.axis[n];
    out.now.add(moves && next < axes.size() ? axes[next++] : out.old.axis[n]);
  }
  for (int a : axes)
    if (t.on[a].kind != lead.kind || t.on[a].dim != lead.dim || next != axes.size())
      return out.why = {code::wrong_collective, static_cast<std::int8_t>(a), 0}, out;
  set_levels(out.type, out.now);
  for (int n = 0; n < out.now.count; ++n) // a halo has no level: an order that gives it one has no type
    if (int const a = out.now.axis[n]; t.on[a].kind != placement_kind::shard && out.type.on[a].level != 0)
      return out.why = {code::not_innermost, static_cast<std::int8_t>(a), 0}, out;
  return out;
}

template <class P>
inline constexpr bool is_flattened_evenly = true; // what is dealt out otherwise does not nest
template <class P>
requires(is_sharded(P::kind)) inline constexpr bool is_flattened_evenly<P> = std::same_as<typename P::family, Even>;

/// The placements of a typing, as a list.
template <typing T, class Keys, class Numbers>
struct placements_so;
template <typing T, class Keys, int... A>
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

/// The named axes in the order in which they deal out their dimension now.
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
