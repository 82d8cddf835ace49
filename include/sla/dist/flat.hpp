// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several axes of a mesh as one, `all_gather<flat<"dp", "tp">>(x)`: one collective over the ranks of all of them, the
// first axis outermost; and axes that deal out one dimension in another order, `permute_shards<"tp", "dp">(x)`. Even
// shards only.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/collectives.hpp>
#include <sla/dist/cotangent.hpp>
#include <sla/dist/grad_steps.hpp>
#include <sla/spmd/modes.hpp>
#include <sla/spmd/order.hpp>

namespace sla {

namespace detail {
template <int... A>
struct several_axes;
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
  static constexpr void require_one_mode() {
    sla::require_one_mode<Mesh, Axes...>();
  }
};

/// A step on flattened axes, and another order of those that deal out a dimension, as `perform` takes them.
template <step How, class Axes, class To, bool Insisted = false, int Dim = 0>
struct flat_step_on {};
template <fixed_string... Axes>
struct order_of_shards {
  using order_tag = void;
  template <class X>
  static auto permuted(X const& x) {
    return detail::permuted<Axes...>(x);
  }
  template <class X>
  using before = typename detail::present_order<X, Axes...>::type;
};

namespace detail {
/// The ranks that several axes of a mesh connect, the first outermost. Its members make it when they first ask.
template <class Mesh>
any_communicator& communicator_of(Mesh const& m, std::span<int const> axes) {
  if (axes.size() == 1) return m.communicator(axes[0]);
  int order[Mesh::rank], stride[Mesh::rank], size = 1; // ranks of the mesh's world ascend by strides, where those are stated
  for (int a = 0; a < Mesh::rank; ++a) order[a] = a;
  if constexpr (Mesh::is_strided)
    std::sort(order, order + Mesh::rank, [](int a, int b) { return Mesh::static_stride(a) > Mesh::static_stride(b); });
  for (int n = Mesh::rank; n-- > 0; size *= m.size(order[n])) stride[order[n]] = size;
  int first = m.world().rank();
  for (int a : axes) first -= m.coordinate(a) * stride[a];
  std::vector<int> members{first};
  for (int a : axes) {
    std::vector<int> const outer = std::exchange(members, {});
    for (int from : outer)
      for (int n = 0; n < m.size(a); ++n) members.push_back(from + n * stride[a]);
  }
  return m.world().part(members);
}
/// The extents that axes deal out when the first one gets `extent`, and each what the one before leaves.
template <class Mesh>
layout_handle<Mesh> nested_layout(layout_handle<Mesh> const& old, std::span<int const> axes, index_t extent) {
  index_t ranks = 1;
  for (int a : axes) ranks *= old->mesh.size(a);
  require_accepted<Even>(extent, int(ranks));
  auto layout = std::make_shared<shared_layout<Mesh>>(*old);
  for (int a : axes) {
    layout->extent[a] = extent;
    extent /= old->mesh.size(a);
  }
  return layout;
}

template <int... A>
struct several_axes {
  static constexpr int list[sizeof...(A)] = {A...};
  static constexpr int first = list[0], count = int(sizeof...(A));
  template <class Mesh>
  static constexpr index_t ranks = ((Mesh::static_size(A) == dyn) || ...) ? dyn : (index_t(Mesh::static_size(A)) * ...);
  template <class Mesh>
  static rank_line line(shared_layout<Mesh> const& layout) {
    any_communicator& c = communicator_of(layout.mesh, list);
    return {&c, c.size(), c.rank(), layout.extent[first], nullptr};
  }
  template <class Family, class Mesh>
  static auto dealt(layout_handle<Mesh> const& old, index_t extent, layout_handle<Mesh> const&) {
    return nested_layout(old, list, extent);
  }
  template <step How, class Mesh, class From, class To>
  static constexpr std::string_view words() {
    return flat_step_words<How, From, To, Mesh, A...>.view();
  }
};

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
  return out;
}

template <class P>
inline constexpr bool is_flattened_evenly = true; // what is dealt out otherwise does not nest
template <class P>
requires(is_sharded(P::kind)) inline constexpr bool is_flattened_evenly<P> = std::same_as<typename P::family, Even>;

template <typing T, class Keys, class Local, class Mesh, class Numbers>
struct typed_so;
template <typing T, class Keys, class Local, class Mesh, int... A>
struct typed_so<T, Keys, Local, Mesh, std::integer_sequence<int, A...>> {
  using type = distributed<Local, Mesh, placement_at<T.on[A], Keys>...>;
};
template <class List, class... To>
struct keys_beside;
template <class... P, class... To>
struct keys_beside<placements<P...>, To...> : key_list<P..., To...> {};
template <class X, class... To>
using stepped_keys = typename keys_beside<placements_of_t<X>, To...>::type;

/// What the refusals of several axes name.
template <class X, int Axis, class... Facts>
using facts_on = type_list<Facts..., operand_is<0, placement_on_t<X, Axis>>,
                           on_axis<mesh_of_t<X>::template name_string<Axis>()>>;

template <step How, class To, bool Insisted, int Dim, class Axes, class X>
auto stepped_flat(X const& x) {
  if constexpr (!is_distributed<X>) {
    return stepped_flat<How, To, Insisted, Dim, Axes>(eval(x));
  } else {
    using Mesh = mesh_of_t<X>;
    using Along = typename Axes::template on<Mesh>;
    using From = placement_on_t<X, Along::first>;
    using Keys = stepped_keys<X, To>;
    Axes::template require_one_mode<Mesh>();
    constexpr bool even = Along::count == 1 || (is_flattened_evenly<From> && is_flattened_evenly<To>);
    constexpr auto found =
        check_flat(How, operand_traits<X>::template value<Keys>.type, Along::list, to_value<To, Keys>(), Insisted);
    constexpr code why = found.why.what != code::ok ? found.why.what : even ? code::ok : code::indivisible;
    if constexpr (why != code::ok) {
      refuse<why, facts_on<X, (0 > found.why.axis ? Along::first : found.why.axis), To, Axes>>();
      return x;
    } else {
      auto [local, layout] = take_step<How, From, To, Along, Dim>(x.local(), x.handle());
      using Out =
          typename typed_so<found.type, Keys, decltype(local), Mesh, std::make_integer_sequence<int, Mesh::rank>>::type;
      return Out(std::move(local), std::move(layout));
    }
  }
}

/// Block n of the old order goes where it is block n of the new one: one message from each rank, and to each.
template <class Local, class Mesh>
Local permuted_blocks(Local const& x, Mesh const& m, std::span<int const> old, std::span<int const> now) {
  auto& c = communicator_of(m, old);
  std::vector<int> to(
      std::size_t(c.size())); // by old place: the place, in the old order, of the rank that gets the block
  for (int n = 0; n < c.size(); ++n) {
    std::vector<int> at(std::size_t(Mesh::rank), 0);
    for (std::size_t k = now.size(), rest = std::size_t(n); k-- > 0; rest /= std::size_t(m.size(now[k])))
      at[std::size_t(now[k])] = int(rest % std::size_t(m.size(now[k])));
    for (int a : old) to[std::size_t(n)] = to[std::size_t(n)] * m.size(a) + at[std::size_t(a)];
  }
  Local out(x.extents(), uninitialized);
  int const from = int(std::find(to.begin(), to.end(), c.rank()) - to.begin());
  std::vector<outgoing> const sends{send_to(to[std::size_t(c.rank())], elements_of(x))};
  std::vector<incoming> const receives{receive_from(from, elements_of(out))};
  c.start(sends, receives)->wait();
  return out;
}
template <fixed_string... Axes, class X>
auto permuted(X const& x) {
  if constexpr (!is_distributed<X>) {
    return permuted<Axes...>(eval(x));
  } else {
    using Mesh = mesh_of_t<X>;
    using Keys = stepped_keys<X>;
    static constexpr int axes[sizeof...(Axes)] = {Mesh::template index<Axes>()...};
    static constexpr auto found = check_order(operand_traits<X>::template value<Keys>.type, axes);
    constexpr bool even = (is_flattened_evenly<placement_along_t<X, Axes>> && ...);
    if constexpr (found.why.what != code::ok || !even) {
      refuse<(found.why.what != code::ok ? found.why.what : code::indivisible),
             facts_on<X, (0 > found.why.axis ? axes[0] : found.why.axis), order_of_shards<Axes...>>>();
      return x;
    } else {
      int old[max_mesh_axes], now[max_mesh_axes];
      auto const count = std::size_t(found.old.count);
      for (int n = 0; n < found.old.count; ++n) old[n] = found.old.axis[n], now[n] = found.now.axis[n];
      std::span<int const> const before(old, count), after(now, count);
      auto layout = nested_layout(x.handle(), after, x.handle()->extent[old[0]]);
      using Out =
          typename typed_so<found.type, Keys, local_of_t<X>, Mesh, std::make_integer_sequence<int, Mesh::rank>>::type;
      return Out(permuted_blocks(x.local(), x.mesh(), before, after), std::move(layout));
    }
  }
}
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
} // namespace detail

namespace detail {
template <class Axes>
concept Flattened = requires {
  typename Axes::flat_tag;
};
template <class Order>
concept OrderOfShards = requires {
  typename Order::order_tag;
};
} // namespace detail

template <step How, class Axes, class To, bool Insisted, int Dim, detail::Steppable X>
auto perform(flat_step_on<How, Axes, To, Insisted, Dim>, X const& x) {
  return detail::stepped_flat<How, To, Insisted, Dim, Axes>(x);
}
template <detail::OrderOfShards Order, detail::Steppable X>
auto perform(Order, X const& x) {
  return Order::permuted(x);
}
template <step How, class Axes, class To, bool Insisted, int Dim, detail::TracedSteppable X>
auto perform(flat_step_on<How, Axes, To, Insisted, Dim> s, X const& x) {
  using From = placement_on_t<plain_t<X>, Axes::template on<mesh_of_t<plain_t<X>>>::first>;
  using Back = flat_step_on<detail::adjoint_step<How, From, To>, Axes, dual_t<From>, true, Dim>;
  return detail::record(x.home(), perform(s, x.value()),
                        detail::linear_in(
                            x, [](auto const&, auto const& g) { return perform(Back{}, g); },
                            [s](auto const&, auto const& d) { return perform(s, d); }));
}
template <detail::OrderOfShards Order, detail::TracedSteppable X>
auto perform(Order s, X const& x) {
  using Back = typename Order::template before<plain_t<X>>;
  return detail::record(x.home(), perform(s, x.value()),
                        detail::linear_in(
                            x, [](auto const&, auto const& g) { return perform(Back{}, g); },
                            [s](auto const&, auto const& d) { return perform(s, d); }));
}

// The collectives of dist/collectives.hpp on flattened axes. Law: all components hold the same placement, shards are
// Even and lie in the order given. Placement and gradient: as on one axis. Cost: one collective of all ranks.

template <detail::Flattened Axes, Placement To = Replicate, Stepping X>
auto all_reduce(X const& x) {
  return perform(flat_step_on<step::all_reduce, Axes, To>{}, x);
}
template <detail::Flattened Axes, Placement To = Replicate, int Dim = 0, Stepping X>
auto all_gather(X const& x) {
  return perform(flat_step_on<step::all_gather, Axes, To, false, Dim>{}, x);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, Stepping X>
auto reduce_scatter(X const& x) {
  return perform(flat_step_on<step::reduce_scatter, Axes, To, false, Dim>{}, x);
}
template <detail::Flattened Axes, Placement To, Stepping X>
auto all_to_all(X const& x) {
  return perform(flat_step_on<step::all_to_all, Axes, To>{}, x);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, Stepping X>
auto convert(X const& x) {
  return perform(flat_step_on<step::convert, Axes, To, false, Dim>{}, x);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, Stepping X>
auto convert(X const& x, expert_t) {
  return perform(flat_step_on<step::convert, Axes, To, true, Dim>{}, x);
}

/// The named axes, which deal out one dimension evenly, take each other's places: Axes is their new order, outermost
/// first. Placement: levels of Shard<d, Even, level>. Gradient: the order before. Cost: each rank sends its part to one
/// rank.
template <fixed_string... Axes, Stepping X>
auto permute_shards(X const& x) {
  return perform(order_of_shards<Axes...>{}, x);
}

} // namespace sla
