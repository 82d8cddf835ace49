// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The paths of a result to the placements that are wanted of it, from every placement at once: the graph of
// spmd/plan/moves.hpp walked against its steps. It lets spmd/plan/call.hpp weigh results in one constant.
#pragma once
#include <cstdint>

#include <sla/spmd/plan/operation.hpp>

namespace sla::plans {

/// Costs of the paths from all states of a tensor to one.
template <int Capacity>
struct path_costs {
  static constexpr int room = Capacity * 24;
  distances<Capacity> seen{}; ///< the states; its costs mean nothing
  std::int64_t cost[Capacity] = {};
  std::uint8_t steps[Capacity] = {};

  constexpr path_cost from(plan_state s) const {
    int const n = seen.find(s);
    return n < 0 ? path_cost{unreachable_cost, 0} : path_cost{cost[n], steps[n]};
  }
};

/// All states that can be reached from the seeds, and the cost of each to `goal`.
template <int Capacity>
constexpr path_costs<Capacity> path_costs_to(route_problem const& g, plan_state goal, plan_state const* seeds, int count) {
  path_costs<Capacity> out;
  out.seen = started<Capacity>(seeds[0]);
  for (int n = 1; n < count; ++n) relax(out.seen, 0, step::convert, 0, seeds[n], 0);
  std::int64_t price[path_costs<Capacity>::room] = {};
  std::int16_t tail[path_costs<Capacity>::room] = {}, head[path_costs<Capacity>::room] = {};
  int edges = 0;
  for (int n = 0; n < out.seen.size; ++n)
    for_each_move(g, out.seen.state[n], [&](step how, unsigned axes, plan_state to, std::int64_t c) {
      relax(out.seen, n, how, axes, to, 0);
      if (edges == path_costs<Capacity>::room) {
        out.seen.overflow = true;
        return;
      }
      price[edges] = c;
      tail[edges] = static_cast<std::int16_t>(n);
      head[edges++] = static_cast<std::int16_t>(out.seen.find(to));
    });
  for (int n = 0; n < out.seen.size; ++n) out.cost[n] = unreachable_cost;
  for (auto const end : {goal, goal | reductions_over})
    if (int const n = out.seen.find(end); n >= 0) out.cost[n] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int e = edges; e-- > 0;) {
      if (out.cost[head[e]] >= unreachable_cost) continue;
      auto const cost = out.cost[head[e]] + price[e];
      int const steps = out.steps[head[e]] + 1, n = tail[e];
      if (cost > out.cost[n] || (cost == out.cost[n] && steps >= out.steps[n])) continue;
      out.cost[n] = cost;
      out.steps[n] = static_cast<std::uint8_t>(steps);
      changed = true;
    }
  }
  return out;
}

/// The problem of a result: from all the placements that the choices give to the target.
template <class = void>
constexpr planned_route route_of_result(operation_problem const& p) {
  tensor_placement from = p.target; // what is pending in the target may be made of copies, see `path_to_target`
  for (int a = 0; a < from.axes; ++a)
    if (is_movable(from.on[a].kind)) from.on[a] = {placement_kind::replicate};
  route_options options;
  for (auto const& o : p.operands())
    for (int a = 0; a < o.type.axes; ++a)
      if (o.type.on[a].kind == placement_kind::shard) options.families |= 1U << o.type.on[a].family;
  return route_between(from, p.target, p.mesh, options);
}

/// States from which all possible results can be reached.
struct result_seeds {
  int size = 0;
  fixed_array<plan_state, 64> state{};
};
template <class = void>
constexpr result_seeds seeds_of(operation_problem const& p, axis_choices const* choices) {
  result_seeds out;
  out.size = 1;
  for (int a = 0; a < p.mesh.axes; ++a) {
    unsigned fields[8] = {};
    int n = 0;
    for (int c = 0; c < choices[a].size; ++c) {
      auto const at = choices[a].choice[c].out;
      unsigned field = 0;
      if (at.kind == placement_kind::partial) field = plan_field(plan_partial, static_cast<unsigned>(at.fold));
      if (at.kind == placement_kind::invariant) field = plan_field(plan_invariant);
      bool known = field == 0;
      for (int m = 0; m < n; ++m) known = known || fields[m] == field;
      if (!known && n < 8) fields[n++] = field;
    }
    int const before = out.size;
    for (int m = 1; m < n; ++m)
      for (int s = 0; s < before && out.size < 64; ++s) out.state[out.size++] = with_field(out.state[s], a, fields[m]);
    for (int s = 0; s < before && n; ++s) out.state[s] = with_field(out.state[s], a, fields[0]);
  }
  return out;
}

/// The path of one result by the table: a pending sum is not made of what was sharded.
template <int Capacity>
constexpr path_cost path_to_target(operation_problem const& p, planned_route const& r, path_costs<Capacity> const& table, tensor_placement const& result) {
  if (result == p.target) return {};
  for (int a = 0; a < result.axes; ++a) {
    auto const from = result.on[a].kind, to = p.target.on[a].kind;
    if (!is_movable(from) || !is_movable(to)) {
      if (!(result.on[a] == p.target.on[a])) return {unreachable_cost, 0};
    }
    if (from == placement_kind::shard && to == placement_kind::partial) return {unreachable_cost, 0};
  }
  return table.from(state_of(r, result));
}

} // namespace sla::plans
