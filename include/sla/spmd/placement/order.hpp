// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the axes that shard one dimension: which is outer, and the levels that say so. A level is part of the
// placement (spmd/placement/placement.hpp); what may move between axes is in the planner.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/placement_values.hpp>

namespace sla {

/// Does the axis shard dimension d, as a shard or with a halo?
constexpr bool has_shards(tensor_placement const& t, int a, int d) {
  auto const kind = t.on[a].kind;
  bool const halo = kind == placement_kind::ghost || kind == placement_kind::ghost_partial; // its level is always 0
  return (kind == placement_kind::shard || halo) && t.on[a].dim == d;
}

/// Do the two axes shard the same dimension, or both the rows, or both the columns?
template <class = void>
constexpr bool share_dimension(tensor_placement const& t, int a, int b) {
  auto const lines = placement_kind::sparse_shard;
  if (t.on[a].kind == lines || t.on[b].kind == lines) return t.on[a].kind == t.on[b].kind && t.on[a].dim == t.on[b].dim;
  return has_shards(t, a, t.on[a].dim) && has_shards(t, b, t.on[a].dim);
}

/// Of two axes that shard one dimension, is the first the outer one?
constexpr bool is_outer(tensor_placement const& t, int a, int b) {
  return t.on[a].level != t.on[b].level ? t.on[a].level < t.on[b].level : a < b;
}

/// Axes by number in the mesh: those that shard one dimension, outermost first.
struct dim_axes {
  int count = 0;
  fixed_array<std::int8_t, max_mesh_axes> axis{};

  constexpr void add(int a) { axis[count++] = static_cast<std::int8_t>(a); }
  /// Puts an axis behind the last one that it is not outside of: `is_outside(b)`.
  template <class IsOutside>
  constexpr void insert(int a, IsOutside is_outside) {
    int at = count++;
    for (; at > 0 && is_outside(axis[at - 1]); --at) axis[at] = axis[at - 1];
    axis[at] = static_cast<std::int8_t>(a);
  }
  constexpr bool operator==(dim_axes const&) const = default;
};

/// The axes that shard dimension d of a dense tensor, or a dense one of a sparse tensor.
template <class = void>
constexpr dim_axes shards_of(tensor_placement const& t, int d) {
  dim_axes out;
  for (int a = 0; a < t.axes; ++a)
    if (has_shards(t, a, d)) out.insert(a, [&](int b) { return is_outer(t, a, b); });
  return out;
}

/// The axes that shard a dimension of (*batch, M, N, *block), or of a dense tensor, by shards, rows, columns or ghosts.
template <class = void>
constexpr dim_axes order_of(tensor_placement const& t, int dim) {
  dim_axes out;
  for (int a = 0; a < t.axes; ++a)
    if (is_sharded(t.on[a].kind) && t.on[a].kind != placement_kind::hyper && sharded_dim(t.on[a], t) == dim)
      out.insert(a, [&](int b) { return is_outer(t, a, b); });
  return out;
}

/// Writes the levels of an order, as small as they can be: 0 throughout is the order of the mesh.
template <class = void>
constexpr void set_levels(tensor_placement& t, dim_axes const& order) {
  std::int8_t level = 0;
  for (int i = 0; i < order.count; ++i) {
    if (i > 0 && order.axis[i] < order.axis[i - 1]) ++level;
    t.on[order.axis[i]].level = level;
  }
}

/// The same placements with the least levels that say the same: equal meanings are equal values.
template <class = void>
constexpr tensor_placement canonical(tensor_placement t) {
  for (int d = 0; d < t.rank; ++d) set_levels(t, shards_of(t, d));
  return t;
}

/// Orders the axes of every dimension by `before(a, b)`: -1 if a must be outside b, 1 if inside, 0 if it does not
/// matter (then the order of the mesh). False if that is a cycle.
template <class Before>
constexpr bool sort_axes(tensor_placement& t, Before before) {
  bool sorted = true;
  for (int d = 0; d < t.rank; ++d) {
    auto const old = shards_of(t, d);
    dim_axes order;
    fixed_array<bool, max_mesh_axes> done{};
    while (order.count < old.count) {
      int next = -1;
      for (int a = 0; a < t.axes && next < 0; ++a) {
        if (!has_shards(t, a, d) || done[a]) continue;
        bool first = true;
        for (int b = 0; b < t.axes; ++b)
          first = first && (b == a || done[b] || !share_dimension(t, a, b) || before(a, b) <= 0);
        if (first) next = a;
      }
      if (next < 0) { // a cycle
        sorted = false;
        break;
      }
      done[next] = true;
      order.add(next);
    }
    if (sorted || old.count == 1) set_levels(t, order);
  }
  return sorted;
}

} // namespace sla
