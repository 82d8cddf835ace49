// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several axes of a mesh as one, and axes that shard one dimension in another order: which steps are legal, and what
// placements they leave, on values. On types, with refusals: spmd/refusal/step_decision.hpp.
#pragma once

#include <cstdint>
#include <span>

#include <sla/spmd/placement/order.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

namespace detail {
struct flat_result {
  tensor_placement type{};
  diagnostic why{};
};
/// A step on several axes at once: all hold the same placement; shards are the innermost of their dimension, in the
/// order given.
template <class = void>
constexpr flat_result check_flat(step how, tensor_placement const& t, std::span<int const> axes, placement_value to, bool insisted) {
  flat_result out{t, {}};
  auto const refused = [&](code what, int a) { return flat_result{t, {what, std::int8_t(a), 0}}; };
  placement_value from = t.on[axes[0]];
  from.level = to.level = 0;
  for (int a : axes) {
    placement_value mine = t.on[a];
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
    tensor_placement others = t;
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
  tensor_placement type{};
  diagnostic why{};
};
template <class = void>
constexpr new_order check_order(tensor_placement const& t, std::span<int const> axes) {
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
} // namespace detail

} // namespace sla
