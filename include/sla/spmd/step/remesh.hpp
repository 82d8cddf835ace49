// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placements seen from another mesh of the same ranks: flattened axes, unflattened and regrouped ones, without communication,
// and what two meshes have to do with each other. Carried out in dist/view/reinterpret_mesh.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/core/meta.hpp>
#include <sla/spmd/mesh/axis_layout.hpp>
#include <sla/spmd/mesh/mesh.hpp>
#include <sla/spmd/placement/partition_spec.hpp>

namespace sla {

/// The tag that says that two meshes of which a size is known at run time only speak of the same ranks. It is checked then.
struct assume_layout_t {};
/// The value of `assume_layout_t`.
inline constexpr assume_layout_t assume_layout{};

/// The axes of a mesh without names.
struct mesh_value {
  int count = 0;
  fixed_array<axis_layout, max_mesh_axes> axis{};
  constexpr std::span<axis_layout const> axes() const { return {axis.data, static_cast<std::size_t>(count)}; }
  constexpr bool known() const {
    bool all = true;
    for (int a = 0; a < count; ++a) all = all && axis[a].known();
    return all;
  }
};
/// The axes of a mesh type as a value.
template <class Mesh>
constexpr mesh_value value_of_mesh() {
  mesh_value m;
  for (int a = 0; a < Mesh::rank; ++a) m.axis[m.count++] = Mesh::layout(a);
  return m;
}

/// Axes of one mesh and axes of another that are the same ranks, outermost first. `first` and `second` list them by number.
struct axis_group {
  dim_axes first{}, second{};
};
/// Why placements cannot be seen from another mesh.
enum class remesh_fault : std::uint8_t {
  none,
  not_comparable, ///< sizes known at run time only
  other_ranks,    ///< the meshes speak of different ranks
  no_groups,      ///< no axes of one are the ranks of axes of the other
  mixed_group,    ///< axes that become one hold different things
  split_order,    ///< a dimension is sharded by a part of the group, or in another order
  uneven          ///< flattened or split, uneven shards would be others
};
/// How the axes of one mesh correspond to those of another.
struct mesh_map {
  remesh_fault fault = remesh_fault::none;
  int groups = 0;
  fixed_array<axis_group, max_mesh_axes> group{};
};
/// The placements on the other mesh, or what is wrong.
struct remesh_outcome {
  tensor_placement type{};
  mesh_map map{};
  remesh_fault fault = remesh_fault::none;
  int axis = -1; ///< of the first mesh
  constexpr bool ok() const { return fault == remesh_fault::none; }
};

namespace detail {

/// Symbol 0 becomes another number.
template <class = void>
constexpr void set_symbol(mesh_value& m, rank_count by) {
  auto const replace = [&](rank_count& c) {
    if (c.power(0) == 1) c = rank_count{c.number, c.symbols - 1u} * by;
  };
  for (int a = 0; a < m.count; ++a)
    for (int n = 0; n < m.axis[a].count; ++n) replace(m.axis[a].atom[n].size), replace(m.axis[a].atom[n].stride);
}
/// Both meshes have equally many ranks: this says the size that is open in one by that of the other.
template <class = void>
constexpr bool unify(mesh_value& l, mesh_value& r) {
  auto const known_part = [](mesh_value const& m) {
    rank_count all;
    for (int a = 0; a < m.count; ++a) all = all * m.axis[a].size();
    return all;
  };
  auto const nl = known_part(l), nr = known_part(r);
  auto const solve = [](mesh_value& m, rank_count mine, rank_count other) {
    if (mine.power(0) == 0 || other.number % mine.number != 0) return false;
    return set_symbol(m, {other.number / mine.number, other.symbols}), true;
  };
  return solve(l, nl, nr) || solve(r, nr, nl) || (nl.known() && nr.known());
}

template <class = void>
constexpr dim_axes outermost_first(mesh_value const& m, fixed_array<bool, max_mesh_axes> const& done) {
  dim_axes out;
  for (int a = 0; a < m.count; ++a) {
    if (done[a] || m.axis[a].count == 0) continue;
    out.insert(a, [&](int b) { return before(m.axis[b].atom[0].stride, m.axis[a].atom[0].stride); });
  }
  return out;
}

} // namespace detail

/// The correspondence of two meshes. Axes of the same ranks correspond whatever they are called; the others are grouped from
/// the outermost on. Axes of size 1 are in no group.
template <class = void>
constexpr mesh_map correspond(mesh_value from, mesh_value to, bool assumed = false) {
  mesh_map out;
  if (!from.known() || !to.known()) {
    if (!assumed || !detail::unify(from, to)) return out.fault = remesh_fault::not_comparable, out;
  }
  if (!(flatten(from.axes()).layout == flatten(to.axes()).layout)) return out.fault = remesh_fault::other_ranks, out;
  fixed_array<bool, max_mesh_axes> from_done{}, to_done{};
  for (int a = 0; a < from.count; ++a)
    for (int b = 0; b < to.count && !from_done[a]; ++b)
      if (from.axis[a].count > 0 && !to_done[b] && from.axis[a] == to.axis[b]) {
        auto& g = out.group[out.groups++];
        g.first.add(a), g.second.add(b);
        from_done[a] = to_done[b] = true;
      }
  auto const left = detail::outermost_first(from, from_done), right = detail::outermost_first(to, to_done);
  int l = 0, r = 0;
  while (l < left.count || r < right.count) {
    axis_group g;
    rank_count nl, nr;
    do {
      bool const take_left = g.first.count == 0 || (g.second.count > 0 && at_most(nl, nr) && !(nl == nr));
      bool const right_behind = g.second.count == 0 || at_most(nr, nl);
      if (!take_left && !right_behind) return out.fault = remesh_fault::no_groups, out;
      if (take_left ? l == left.count : r == right.count) return out.fault = remesh_fault::no_groups, out;
      if (take_left) {
        g.first.add(left.axis[l]);
        nl = nl * from.axis[left.axis[l++]].size();
      } else {
        g.second.add(right.axis[r]);
        nr = nr * to.axis[right.axis[r++]].size();
      }
    } while (!(nl == nr) || g.second.count == 0);
    fixed_array<axis_layout, max_mesh_axes> one{}, two{};
    for (int n = 0; n < g.first.count; ++n) one[n] = from.axis[g.first.axis[n]];
    for (int n = 0; n < g.second.count; ++n) two[n] = to.axis[g.second.axis[n]];
    auto const flat = [](fixed_array<axis_layout, max_mesh_axes> const& all, int count) {
      return flatten(std::span<axis_layout const>(all.data, static_cast<std::size_t>(count))).layout;
    };
    if (!(flat(one, g.first.count) == flat(two, g.second.count))) return out.fault = remesh_fault::no_groups, out;
    out.group[out.groups++] = g;
  }
  return out;
}

/// The placements of a value on `from`, as they are seen from `to`. The bytes that a rank holds stay. `even_families`: a bit
/// per family whose pieces are equal. Axes of size 1 that only `to` has are Replicate.
template <class = void>
constexpr remesh_outcome remesh(tensor_placement const& t, mesh_value const& from, mesh_value const& to, std::uint64_t even_families,
                          bool assumed = false) {
  remesh_outcome out;
  out.map = correspond(from, to, assumed);
  out.fault = out.map.fault;
  if (!out.ok()) return out;
  auto const wrong = [&](remesh_fault f, int a) { return out.fault = f, out.axis = a, out; };
  out.type = t;
  out.type.axes = static_cast<std::int8_t>(to.count);
  for (int b = 0; b < max_mesh_axes; ++b) out.type.on[b] = b < to.count ? placement_value{placement_kind::replicate} : placement_value{};
  fixed_array<std::int8_t, max_mesh_axes> group_of{};
  for (int a = 0; a < from.count; ++a) group_of[a] = -1;
  for (int n = 0; n < out.map.groups; ++n) {
    auto const& g = out.map.group[n];
    auto p = t.on[g.first.axis[0]];
    p.level = 0;
    for (int i = 0; i < g.first.count; ++i) {
      auto q = t.on[g.first.axis[i]];
      q.level = 0;
      if (!(p == q)) return wrong(remesh_fault::mixed_group, g.first.axis[i]);
      group_of[g.first.axis[i]] = static_cast<std::int8_t>(n);
    }
    bool const regrouped = g.first.count > 1 || g.second.count > 1;
    if (regrouped && is_sharded(p.kind) && !(p.kind == placement_kind::shard && (even_families >> p.family & 1)))
      return wrong(remesh_fault::uneven, g.first.axis[0]);
    for (int i = 0; i < g.second.count; ++i) out.type.on[g.second.axis[i]] = p;
  }
  for (int d = 0; d < t.rank; ++d) { // the axes of each dimension, group by group
    auto const order = order_of(t, d);
    dim_axes next;
    bool only_shards = true;
    for (int n = 0; n < order.count;) {
      only_shards = only_shards && t.on[order.axis[n]].kind == placement_kind::shard;
      int const at = group_of[order.axis[n]];
      if (at < 0) { // of size 1: it shards nothing
        ++n;
        continue;
      }
      auto const& g = out.map.group[at];
      for (int i = 0; i < g.first.count; ++i, ++n)
        if (n == order.count || order.axis[n] != g.first.axis[i]) return wrong(remesh_fault::split_order, g.first.axis[i]);
      for (int i = 0; i < g.second.count; ++i) next.add(g.second.axis[i]);
    }
    if (only_shards) set_levels(out.type, next);
  }
  return out;
}

/// What two meshes have to do with each other, for the hint about operands that live on different ones.
enum class mesh_relation : std::uint8_t {
  same_ranks,  ///< the same ranks in other axes: reinterpret_mesh may do
  part,        ///< the second speaks of more ranks: `missing` are its axes that the first lacks
  contains,    ///< the first speaks of more ranks: `missing` are its axes that the second lacks
  overlapping, ///< some ranks in common: no step without communication
  disjoint     ///< no rank but the first in common
};
/// How two meshes are related.
struct mesh_hint {
  mesh_relation relation = mesh_relation::disjoint;
  std::uint32_t missing = 0; ///< a bit per axis of the larger mesh
};
/// The relation of two meshes, and the axes that the smaller one lacks.
template <class = void>
constexpr mesh_hint relate(mesh_value const& l, mesh_value const& r) {
  auto const region_l = flatten(l.axes()).layout, region_r = flatten(r.axes()).layout;
  if (region_l == region_r) return {mesh_relation::same_ranks, 0};
  auto const lacking = [](mesh_value const& wide, axis_layout const& narrow) {
    std::uint32_t missing = 0;
    for (int a = 0; a < wide.count; ++a)
      if (wide.axis[a].count > 0 && orthogonal(wide.axis[a], narrow)) missing |= std::uint32_t{1} << a;
    return missing;
  };
  if (subgroup(region_l, region_r)) return {mesh_relation::part, lacking(r, region_l)};
  if (subgroup(region_r, region_l)) return {mesh_relation::contains, lacking(l, region_r)};
  return {orthogonal(region_l, region_r) ? mesh_relation::disjoint : mesh_relation::overlapping, 0};
}

} // namespace sla
