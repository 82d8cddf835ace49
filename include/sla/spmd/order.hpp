// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the axes that deal out one dimension: which is outer, and the levels that say so. A level is part of the
// placement (spmd/placement.hpp); what may move between axes is in the planner.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/typing.hpp>

namespace sla {

/// Do the two axes deal out the same dimension, as shards?
constexpr bool share_dimension(typing const& t, int a, int b) {
  return t.on[a].kind == placement_kind::shard && t.on[b].kind == placement_kind::shard && t.on[a].dim == t.on[b].dim;
}

/// Of two axes that deal out one dimension, is the first the outer one?
constexpr bool is_outer(typing const& t, int a, int b) {
  return t.on[a].level != t.on[b].level ? t.on[a].level < t.on[b].level : a < b;
}

/// The axes that deal out dimension d, outermost first; their number.
constexpr int axes_of(typing const& t, int d, fixed_array<std::int8_t, max_mesh_axes>& order) {
  int n = 0;
  for (int a = 0; a < t.axes; ++a) {
    if (t.on[a].kind != placement_kind::shard || t.on[a].dim != d) continue;
    int at = n++;
    for (; at > 0 && is_outer(t, a, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = static_cast<std::int8_t>(a);
  }
  return n;
}

/// Writes the levels of an order, outermost first, as small as they can be: 0 throughout is the order of the mesh.
constexpr void set_levels(typing& t, fixed_array<std::int8_t, max_mesh_axes> const& order, int n) {
  std::int8_t level = 0;
  for (int i = 0; i < n; ++i) {
    if (i > 0 && order[i] < order[i - 1]) ++level;
    t.on[order[i]].level = level;
  }
}

/// Orders the axes of every dimension by `before(a, b)`: -1 if a must be outside b, 1 if inside, 0 if it does not
/// matter (then the order of the mesh). False if that is a cycle.
template <class Before>
constexpr bool sort_axes(typing& t, Before before) {
  bool sorted = true;
  for (int d = 0; d < t.rank; ++d) {
    fixed_array<std::int8_t, max_mesh_axes> left{}, order{};
    int const n = axes_of(t, d, left);
    fixed_array<bool, max_mesh_axes> done{};
    for (int i = 0; i < n; ++i) {
      int next = -1;
      for (int a = 0; a < t.axes && next < 0; ++a) {
        if (t.on[a].kind != placement_kind::shard || t.on[a].dim != d || done[a]) continue;
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
      order[i] = static_cast<std::int8_t>(next);
    }
    if (n > 1 && sorted) set_levels(t, order, n);
    if (n == 1) t.on[left[0]].level = 0;
  }
  return sorted;
}

} // namespace sla
