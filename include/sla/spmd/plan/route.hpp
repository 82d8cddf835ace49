// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The path of one tensor from given placements to others, as a problem of search, and its cheapest plan for every size.
// The search is in spmd/plan/search.hpp; plans as types are in spmd/plan/plan_steps.hpp.
#pragma once
#include <cstdint>

#include <sla/spmd/placement/family.hpp>
#include <sla/spmd/placement/order.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/plan/search.hpp>

namespace sla::plans {

inline constexpr int max_plan_keys = 24;

/// What a problem of planning knows besides placements: the mesh, and the families by their numbers in the placements.
struct plan_setting {
  std::int8_t axes = 0;
  fixed_array<int, max_mesh_axes> size{};
  topology wired{};
  std::int8_t families = 0; ///< numbers below this may occur
  fixed_array<bool, max_plan_keys> even{}; ///< equal pieces that nest, as steps on several axes want them: Even, not Strided
  fixed_array<bool, max_plan_keys> stated{};
  fixed_array<bool, max_plan_keys> rejects_some_extents{}; ///< uneven, and does not accept every extent: Table, Strided
  std::int16_t plain = -1; ///< the number of Even, by which steps in between shard; -1: none do
  constexpr bool operator==(plan_setting const&) const = default;
};

/// A problem with both of its ends as states.
struct planned_route {
  route_problem problem{};
  plan_state from = 0, to = 0;
  fixed_array<std::int16_t, max_plan_families> family{}; ///< the numbers of the problem's families in the placements
  bool possible = true; ///< false: an axis whose placement no step changes has another one at the end
  constexpr bool operator==(planned_route const&) const = default;
};

constexpr bool is_movable(placement_kind k) {
  return k == placement_kind::replicate || k == placement_kind::invariant || k == placement_kind::partial || k == placement_kind::shard;
}

/// How many axes shard the dimension of axis a outside of it.
constexpr int place_in_list(tensor_placement const& t, int a) {
  int place = 0;
  for (int b = 0; b < t.axes; ++b) place += b != a && share_dimension(t, a, b) && is_outer(t, b, a);
  return place;
}

template <class = void>
constexpr plan_state state_of(planned_route const& r, tensor_placement const& t) {
  plan_state s = 0;
  for (int a = 0; a < t.axes; ++a) {
    auto const p = t.on[a];
    unsigned field = 0;
    if (p.kind == placement_kind::invariant) field = plan_field(plan_invariant);
    if (p.kind == placement_kind::partial) field = plan_field(plan_partial, static_cast<unsigned>(p.fold));
    if (p.kind == placement_kind::shard) {
      unsigned family = 0;
      for (int f = 0; f < r.problem.families; ++f)
        if (r.family[f] == p.family) family = static_cast<unsigned>(f);
      field = plan_field(plan_shard, static_cast<unsigned>(p.dim), static_cast<unsigned>(place_in_list(t, a)), family);
    }
    s = with_field(s, a, field);
  }
  return s;
}

/// The placements of a state, on the axes that steps can change; the others as in `like`.
template <class = void>
constexpr tensor_placement tensor_placement_of(planned_route const& r, plan_state s, tensor_placement const& like) {
  tensor_placement t = like;
  for (int a = 0; a < t.axes; ++a) {
    if (r.problem.fixed >> a & 1) continue;
    unsigned const field = static_cast<unsigned>(s >> (10 * a) & 1023), what = field >> 2 & 7;
    placement_value p{placement_kind::replicate};
    if ((field & 3) == plan_invariant) p.kind = placement_kind::invariant;
    if ((field & 3) == plan_partial) p = {placement_kind::partial, static_cast<monoid>(what)};
    if ((field & 3) == plan_shard)
      p = {placement_kind::shard, monoid::none, static_cast<std::int8_t>(what), r.family[static_cast<int>(field >> 8)], -1,
           static_cast<std::int8_t>(field >> 5 & 7)};
    t.on[a] = p;
  }
  return canonical(t);
}

/// What is wanted of a route besides its ends.
struct route_options {
  bool insisted = false; ///< Replicate may become Invariant, and Invariant a pending sum
  bool avoid_new_even_shards = false;  ///< create no Even shards that the extents may not allow
  bool all_targets = false; ///< distances to all placements of the tensor are wanted: `to` says which kinds may occur
  fixed_array<std::int64_t, max_dims> extent{}; ///< of the whole tensor; 0: unknown
  std::uint32_t families = 0; ///< further families that shards may have on the way: a bit for each number
  constexpr bool operator==(route_options const&) const = default;
};

/// The problem of leading a tensor from some placements to others. A pending sum is made only of what was not sharded, and
/// an Invariant of a Replicate only by insisting, whatever lies between.
template <class = void>
constexpr planned_route route_between(tensor_placement const& from, tensor_placement const& to, plan_setting const& m, route_options const& options = {}) {
  using kind = placement_kind;
  planned_route r;
  auto& g = r.problem;
  g.axes = from.axes;
  g.dims = from.rank;
  g.size = m.size;
  g.wired = m.wired;
  g.insisted = options.insisted;
  g.avoid_new_even_shards = options.avoid_new_even_shards;
  g.extent = options.extent;
  auto const shard_of = [](int family) { return placement_value{kind::shard, monoid::none, 0, static_cast<std::int16_t>(family)}; };
  auto const meet = [&](placement_value p, bool arrives) {
    if (p.kind != kind::shard) return;
    int f = 0;
    while (f < g.families && r.family[f] != p.family) ++f;
    if (f == max_plan_families) {
      r.possible = false;
      return;
    }
    if (f == g.families) {
      r.family[g.families++] = p.family;
      g.even[f] = m.even[p.family];
    }
    g.reachable[f] = g.reachable[f] || (m.stated[p.family] && (arrives || m.even[p.family]));
  };
  if (m.plain >= 0) meet(shard_of(m.plain), true);
  for (int f = 0; f < m.families; ++f)
    if (options.families >> f & 1) meet(shard_of(f), true);
  for (int a = 0; a < from.axes; ++a) {
    auto const p = from.on[a], q = to.on[a];
    auto const bit = static_cast<std::uint8_t>(1U << a);
    meet(p, false);
    meet(q, true);
    if (!is_movable(p.kind)) {
      g.fixed |= bit;
      if (is_sharded(p.kind)) g.sharded |= bit;
      r.possible = r.possible && (options.all_targets || p == q);
      continue;
    }
    r.possible = r.possible && (options.all_targets || is_movable(q.kind));
    bool const may_be_sum = p.kind == kind::replicate || (p.kind == kind::invariant && options.insisted) || p.kind == kind::partial;
    bool const is_sum = q.kind == kind::partial && q.fold == monoid::sum;
    if (may_be_sum && (is_sum || options.all_targets)) g.to_partial |= bit;
    if (q.kind == kind::invariant && (p.kind != kind::replicate || options.insisted)) g.to_invariant |= bit;
    if (p.kind == kind::shard) g.source_axes[p.dim].add(a, m.even[p.family]);
    if (q.kind == kind::shard) g.target_axes[q.dim].add(a, m.even[q.family]);
  }
  r.from = state_of(r, from);
  r.to = state_of(r, to);
  if (!options.all_targets && options.families == 0) { // else there are further targets
    g.model[g.models++] = r.to;
    for (int f = 0; f < g.families; ++f) g.rejects_some_extents[f] = m.rejects_some_extents[r.family[f]];
  }
  return r;
}

/// Does a plan create Even shards that neither its source nor its target has? Then extents must divide.
template <class = void>
constexpr bool needs_division(planned_route const& r, step_list const& path) {
  for (int k = 0; k < path.size; ++k) {
    auto const u = unpack(path.steps[k].after, r.problem.axes);
    for (int d = 0; d < r.problem.dims; ++d) {
      sharded_axes list, to_last; // of the list, and up to its last equal pieces
      for (int i = 0; i < u.length[d]; ++i) {
        bool const even = r.problem.even[u.family[u.list[d][i]]];
        list.add(u.list[d][i], even);
        if (even) to_last = list;
      }
      if (!r.problem.source_axes[d].has(to_last) && !r.problem.target_axes[d].has(to_last)) return true;
    }
  }
  return false;
}

inline constexpr int max_pieces = 8;

/// The cheapest plans by the size of the whole tensor: piece n holds from `from[n]` bytes on.
struct plan_pieces {
  int size = 0;
  fixed_array<step_list, max_pieces> path{};
  fixed_array<std::int64_t, max_pieces> from{};

  constexpr void add(std::int64_t begin, step_list const& p) {
    if (size == max_pieces || (size && path[size - 1].size == p.size && path[size - 1].steps == p.steps)) return;
    path[size] = p;
    from[size++] = begin;
  }
};

/// The least size from which the line b costs less than a; b grows more slowly.
constexpr std::int64_t crossing(linear_cost const& a, linear_cost const& b) {
  auto const gap = (b.fixed - a.fixed) * 65536, slope = a.per_byte - b.per_byte;
  return gap < 0 ? 0 : gap / slope + 1;
}

} // namespace sla::plans
