// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same ranks as another mesh: `reinterpret_mesh(x, other)` flattens, unflattens and regroups axes; every rank keeps its bytes.
// What the placements become is decided in spmd/step/remesh.hpp.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/value/distributed.hpp>
#include <sla/spmd/step/remesh.hpp>

namespace sla {

namespace detail {

template <class X, class New, bool Assumed>
struct remeshed_type;
template <class Local, class Mesh, class... P, class New, bool Assumed>
struct remeshed_type<distributed<Local, Mesh, P...>, New, Assumed> {
  using keys = typename key_list<P...>::type;
  static constexpr tensor_placement before = tensor_placement_of<distributed<Local, Mesh, P...>>;
  static constexpr remesh_outcome value = remesh(before, value_of_mesh<Mesh>(), value_of_mesh<New>(), even_bits(keys{}), Assumed);
  template <int... A>
  static auto make(std::integer_sequence<int, A...>) {
    return std::type_identity<distributed<Local, New, placement_at<value.type.on[A], keys>...>>{};
  }
  static auto choose() {
    if constexpr (value.ok())
      return make(std::make_integer_sequence<int, New::rank>{});
    else
      return std::type_identity<distributed<Local, Mesh, P...>>{}; // one error
  }
  using type = typename decltype(choose())::type;
};

/// Never true; its arguments are what a refusal prints.
template <class X, class New>
inline constexpr bool meshes_correspond = false;

template <class X, class New, bool Assumed>
constexpr void require_remesh() {
  constexpr auto f = remeshed_type<X, New, Assumed>::value.fault;
  using enum remesh_fault;
  if constexpr (f == not_comparable)
    static_assert(meshes_correspond<X, New>, "sla[E15]: sizes of these meshes are known at run time only, so nothing says that they speak of the same ranks. If they "
                                             "do, and one size follows from the other: reinterpret_mesh(x, mesh, assume_layout)");
  else if constexpr (f == other_ranks)
    static_assert(meshes_correspond<X, New>, "sla[E15]: the meshes speak of different ranks: reinterpret_mesh keeps what each rank has. Place x on the other mesh by "
                                             "distribute, or state the axis that it lacks");
  else if constexpr (f == no_groups)
    static_assert(meshes_correspond<X, New>, "sla[E15]: no axes of one mesh are the ranks of axes of the other: no step without communication leads there. Redistribute to "
                                             "Replicate first");
  else if constexpr (f == mixed_group)
    static_assert(meshes_correspond<X, New>, "sla[E15]: axes that would become others together hold different things: give them one placement first");
  else if constexpr (f == split_order)
    static_assert(meshes_correspond<X, New>, "sla[E15]: axes that would become others together shard a dimension in another order than outermost first, or with another "
                                             "axis between them: permute_shards first");
  else if constexpr (f == uneven)
    static_assert(meshes_correspond<X, New>, "sla[E30]: uneven shards over several axes are not those over one: only Even shards can be flattened or split");
}

/// The layout on the other mesh: of a group the extents follow from that of its outermost axis.
template <class Map, class Mesh, class New>
layout_handle<New> remeshed_layout(Map const& map, shared_layout<Mesh> const& old, New const& m) {
  auto layout = std::make_shared<shared_layout<New>>();
  layout->mesh = m;
  layout->rows = old.rows;
  layout->halo = kept_with(old.mesh, old.halo);
  layout->fold = kept_with(old.mesh, old.fold);
  if (old.domain) layout->domain = remeshed_layout(map, *old.domain, m);
  for (int n = 0; n < map.groups; ++n) {
    auto const& g = map.group[n];
    index_t extent = old.extent[g.first.axis[0]];
    index_t before = 1, after = 1;
    for (int i = 0; i < g.first.count; ++i) before *= old.mesh.size(g.first.axis[i]);
    for (int i = 0; i < g.second.count; ++i) {
      layout->extent[g.second.axis[i]] = extent;
      if (g.second.count > 1) extent /= m.size(g.second.axis[i]);
      after *= m.size(g.second.axis[i]);
    }
    if (before != after)
      throw shape_error(text("reinterpret_mesh: ", before, " ranks of one mesh stand for ", after, " of the other"));
  }
  return layout;
}

template <bool Assumed, class X, class New>
auto seen_from(X&& x, New const& m) {
  using T = std::remove_cvref_t<X>;
  using Seen = remeshed_type<T, New, Assumed>;
  require_remesh<T, New, Assumed>();
  if constexpr (Seen::value.ok()) {
    auto const& mine = x.mesh();
    if (mine.world().size() != m.world().size() || mine.world().rank() != m.world().rank())
      throw shape_error(text("reinterpret_mesh: this rank is ", mine.world().rank(), " of ", mine.world().size(), " on the mesh of x, and ", m.world().rank(),
                             " of ", m.world().size(), " on the other; make both from one world"));
    auto layout = remeshed_layout(Seen::value.map, *x.handle(), m);
    return typename Seen::type(std::forward<X>(x).local(), std::move(layout));
  } else {
    return std::remove_cvref_t<X>(std::forward<X>(x));
  }
}

} // namespace detail

/// The same value on another mesh of the same ranks: axes that are the same ranks correspond, whatever they are called, and axes
/// that together are become each other where they hold one thing. Placement: those of corresponding axes. Gradient: back. Cost:
/// nothing. Errors: E15 and E30, with what to do first; shape_error, if the meshes were made from different worlds.
template <class X, class... Axes>
  requires(is_distributed<std::remove_cvref_t<X>>)
auto reinterpret_mesh(X&& x, mesh<Axes...> const& m) {
  return detail::seen_from<false>(std::forward<X>(x), m);
}
/// The same where a size is known at run time only. Errors: shape_error, if the meshes are not what the other sizes say.
template <class X, class... Axes>
  requires(is_distributed<std::remove_cvref_t<X>>)
auto reinterpret_mesh(X&& x, mesh<Axes...> const& m, assume_layout_t) {
  return detail::seen_from<true>(std::forward<X>(x), m);
}
/// The same with a new mesh, and with the placements that are expected. Cost: the communicators of its axes are made, on all ranks.
template <class New, Placement... Expected, class X>
  requires(is_mesh<New> && is_distributed<std::remove_cvref_t<X>>)
auto reinterpret_mesh(X&& x) {
  using Old = mesh_of_t<X>;
  static_assert(!Old::is_strided && !New::is_strided, "sla: reinterpret_mesh<New>(x): a mesh of stated strides is made from its world: reinterpret_mesh(x, mesh)");
  auto const world = x.mesh().world_handle();
  auto out = detail::seen_from<false>(std::forward<X>(x), New(world));
  static_assert(sizeof...(Expected) == 0 || std::is_same_v<placements_of_t<decltype(out)>, placements<Expected...>>,
                "sla[E15]: reinterpret_mesh<New, P...>(x): the value has other placements on the other mesh than those that are expected");
  return out;
}

} // namespace sla
