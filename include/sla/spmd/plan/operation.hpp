// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cheapest way to make the operands of one operation fit its strategy: costs of operands add, so one search per
// operand and a loop over what the axes may hold are exact. Plans of one tensor are in spmd/plan/route.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/spmd/plan/route.hpp>
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::plans {

inline constexpr int max_axis_choices = 96;

/// What is given when an operation is to be planned.
struct operation_problem {
  strategy how{};
  int inputs = 0;
  fixed_array<operand, max_operands> given{};
  fixed_array<std::int8_t, max_operands> same_as{{-1, -1, -1, -1, -1, -1}}; ///< the earlier operand that this one is
  fixed_array<fixed_array<std::int64_t, max_dims>, max_operands> extent{};   ///< of the whole operands; 0: unknown
  fixed_array<bool, max_operands> stays{};                                   ///< operands that no plan moves
  plan_setting mesh{};
  call_context context{}; ///< what the mesh and the rule demand besides placements, as of a call without a plan
  bool has_target = false;
  tensor_placement target{}; ///< the placements wanted of the first result

  constexpr std::span<operand const> operands() const { return {given.data, static_cast<std::size_t>(inputs)}; }
  template <class = void>
  constexpr placement_outcome as_given() const { return check(how, operands(), context); }
  /// Axes are decided one by one: does the operation take what all of them together make of the operands?
  template <class = void>
  constexpr bool takes(tensor_placement const* types) const {
    if (!how.counts_pieces()) return true;
    auto then = *this;
    for (int k = 0; k < inputs; ++k) then.given[k].type = types[k];
    return then.as_given().ok();
  }
};

/// What the operands may hold on one axis, and what the result is then; in order of preference.
struct axis_choice {
  fixed_array<placement_value, max_operands> in{};
  placement_value out{};
};
struct axis_choices {
  int size = 0;
  axis_choice choice[max_axis_choices] = {};
};

/// The chosen placements, before the operation and after it.
struct operation_plan {
  std::int64_t cost = unreachable_cost;
  int steps = 0;
  fixed_array<tensor_placement, max_operands> operand{};
  tensor_placement result{};
  constexpr bool reachable() const { return cost < unreachable_cost; }
};

/// Do the operands fit as they are? Then nothing is searched.
template <class = void>
constexpr bool fits_as_given(operation_problem const& p) {
  auto const now = p.as_given();
  return now.ok() && (!p.has_target || now.type == p.target);
}

/// The dimension of operand `to` that has the index of dimension d of operand k (the result is operand -1); -1: no rule says.
template <class = void>
constexpr int dim_of_index(strategy const& s, int k, int d, int to) {
  auto const slot_of = [](rule const& r, int n) { return n < 0 ? r.out[0] : r.in[n]; };
  for (int n = 0; n < s.size; ++n) {
    auto const at = slot_of(s.rules[n], k), there = slot_of(s.rules[n], to);
    if (at.kind == slot_kind::shard && at.dim == d && there.kind == at.kind && there.partition == at.partition) return there.dim;
  }
  return -1;
}

/// Carries the shards of operand k over to operand `to` along the indices that they share, and replicates the rest. `like` has the
/// dimensions of `to`; k = -1 is the result.
template <class = void>
constexpr tensor_placement seen_from(strategy const& s, tensor_placement const& t, int k, int to, tensor_placement like) {
  for (int a = 0; a < like.axes; ++a) {
    like.on[a] = {placement_kind::replicate};
    if (a >= t.axes || t.on[a].kind != placement_kind::shard) continue;
    int const d = dim_of_index(s, k, t.on[a].dim, to);
    if (d < 0) continue;
    like.on[a] = t.on[a];
    like.on[a].dim = static_cast<std::int8_t>(d);
  }
  return like;
}

/// The problem of one operand, with all of its placements as targets; `to` of it says nothing.
template <class = void>
constexpr planned_route route_of_operand(operation_problem const& p, int k) {
  tensor_placement kinds = p.given[k].type;
  route_options options;
  options.all_targets = true;
  auto const meet = [&](tensor_placement const& t) {
    for (int a = 0; a < t.axes; ++a) {
      if (t.on[a].kind == placement_kind::shard) options.families |= 1U << t.on[a].family;
      if (t.on[a].kind == placement_kind::invariant && is_movable(kinds.on[a].kind)) kinds.on[a] = t.on[a];
    }
  };
  for (auto const& o : p.operands()) meet(o.type);
  if (p.has_target) meet(p.target);
  options.extent = p.extent[k];
  auto r = route_between(p.given[k].type, kinds, p.mesh, options);
  auto& g = r.problem;
  bool any = false;
  for (int f = 0; f < g.families; ++f) any |= g.rejects_some_extents[f] = p.mesh.rejects_some_extents[r.family[f]];
  for (int n = p.has_target ? -1 : 0; any && n < p.inputs; ++n)
    g.model[g.models++] = state_of(r, seen_from(p.how, n < 0 ? p.target : p.given[n].type, n, k, p.given[k].type));
  return r;
}

struct choice_builder {
  operation_problem const& p;
  int axis;
  fixed_array<operand, max_operands> trial{};
  fixed_array<std::int16_t, max_plan_families> family{};
  int families = 0;
  bool invariant = false;
  call_context context;
  axis_choices out{};

  template <class = void>
  constexpr choice_builder(operation_problem const& problem, int a) : p(problem), axis(a), trial(problem.given), context(problem.context) {
    context.ranks = {}; // pieces are counted when all axes are chosen
    auto const meet = [&](tensor_placement const& t) {
      for (int b = 0; b < t.axes; ++b)
        if (t.on[b].kind == placement_kind::shard) {
          int f = 0;
          while (f < families && family[f] != t.on[b].family) ++f;
          if (f == families && families < max_plan_families) family[families++] = t.on[b].family;
        }
      invariant = invariant || t.on[axis].kind == placement_kind::invariant;
    };
    for (auto const& o : p.operands()) meet(o.type);
    if (p.has_target) meet(p.target);
    if (p.how.known && p.how.inputs == p.inputs) put(0);
  }

  template <class = void>
  constexpr void put(int k) { // what operand k and the later ones may hold
    if (k == p.inputs) {
      auto const one = detail::decide(p.how, {trial.data, static_cast<std::size_t>(k)}, axis, context);
      if (one.why != code::ok || out.size == max_axis_choices) return;
      auto& c = out.choice[out.size++];
      for (int n = 0; n < k; ++n) c.in[n] = trial[n].type.on[axis];
      c.out = one.at[0];
      return;
    }
    auto const& o = p.given[k];
    auto const now = o.type.on[axis];
    auto& at = trial[k].type.on[axis];
    auto const with = [&](placement_value to) {
      at = to;
      at.level = 0;
      put(k + 1);
    };
    if (p.same_as[k] >= 0) return with(trial[p.same_as[k]].type.on[axis]);
    if (o.weak || p.stays[k] || o.type.axes == 0 || !is_movable(now.kind)) return with(now);
    with({placement_kind::replicate});
    if (invariant) with({placement_kind::invariant});
    if (now.kind == placement_kind::partial) with(now);
    else if (now.kind == placement_kind::replicate)
      with({placement_kind::partial, monoid::sum});
    for (int d = 0; d < o.type.rank; ++d) {
      if (o.type.is_sparse() && (d == o.type.batch || d == o.type.batch + 1)) continue;
      for (int f = 0; f < families; ++f) with({placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), family[f]});
    }
  }
};

/// The loop over all combinations. `distance(k, state)` and `steps(k, state)` are of operand k, `after(result)` is the cost from
/// a result to the target. What costs more than the best so far by its lower bounds alone is skipped.
template <class Distance, class Steps, class After>
struct combination_search {
  operation_problem const& p;
  axis_choices const* choices; ///< per axis
  planned_route const* route;  ///< per operand
  pair_floors const* floors;   ///< per operand
  Distance const& distance;
  Steps const& steps;
  After const& after;
  std::int64_t limit = unreachable_cost; ///< what some combination costs
  operation_plan best{};
  int best_changed = 0, best_mask = 0;
  fixed_array<int, max_mesh_axes> order{}, chosen{};

  struct partial_state {
    plan_state state = 0;
    std::int64_t least = 0;
    std::uint64_t lengths = 0; ///< of the lists of the dimensions, a byte each
  };
  struct partial_states {
    partial_state of[max_operands] = {};
  };
  /// A choice as a field of the state of its operand, without the place. Negative: the axis stays.
  int field[max_mesh_axes][max_axis_choices][max_operands] = {};
  int ids[max_mesh_axes][max_operands] = {}; ///< of the chosen fields in the floors, by depth

  constexpr void set_fields() {
    for (int a = 0; a < p.mesh.axes; ++a)
      for (int n = 0; n < choices[a].size; ++n)
        for (int k = 0; k < p.inputs; ++k) field[a][n][k] = moves(k) ? field_of(route[k], a, choices[a].choice[n].in[k]) : -1;
  }
  static constexpr int field_of(planned_route const& r, int a, placement_value at) {
    if (r.problem.fixed >> a & 1) return -1;
    unsigned family = 0;
    for (int f = 0; f < r.problem.families; ++f)
      if (r.family[f] == at.family) family = static_cast<unsigned>(f);
    switch (at.kind) {
    case placement_kind::invariant:
      return static_cast<int>(plan_field(plan_invariant));
    case placement_kind::partial:
      return static_cast<int>(plan_field(plan_partial, static_cast<unsigned>(at.fold)));
    case placement_kind::shard:
      return static_cast<int>(plan_field(plan_shard, static_cast<unsigned>(at.dim), 0, family));
    default:
      return static_cast<int>(plan_field(plan_copies));
    }
  }

  constexpr bool moves(int k) const { return !p.given[k].weak && p.given[k].type.axes > 0 && p.same_as[k] < 0 && !p.stays[k]; }

  constexpr tensor_placement with_choices(tensor_placement t, int k, bool result = false) const {
    for (int a = 0; a < p.mesh.axes; ++a) {
      auto const& c = choices[a].choice[chosen[a]];
      t.on[a] = result ? c.out : c.in[k];
    }
    for (int d = 0; d < t.rank; ++d) { // this order, in the fewest levels
      dim_axes list;
      for (int i = 0; i < p.mesh.axes; ++i)
        if (t.on[order[i]].kind == placement_kind::shard && t.on[order[i]].dim == d) list.add(order[i]);
      set_levels(t, list);
    }
    return t;
  }

  constexpr void leaf(partial_states const& at) {
    std::int64_t cost = 0;
    int count = 0, changed = 0, mask = 0;
    for (int k = 0; k < p.inputs; ++k) {
      if (!moves(k)) continue;
      auto const d = distance(k, at.of[k].state);
      if (d >= unreachable_cost) return;
      cost += d;
      if (cost > limit) return;
      count += steps(k, at.of[k].state);
      if (at.of[k].state != route[k].from) ++changed, mask |= 1 << (max_operands - k);
    }
    auto const better = [&] {
      if (cost != best.cost) return cost < best.cost;
      if (count != best.steps) return count < best.steps;
      if (changed != best_changed) return changed < best_changed;
      return mask < best_mask;
    };
    if (!better()) return;
    operation_plan now;
    now.result.axes = p.mesh.axes;
    now.result.rank = p.how.result_rank[0];
    now.result.batch = p.how.result_batch[0];
    now.result = with_choices(now.result, 0, true);
    if (check_placements(now.result).what != code::ok) return;
    for (int k = 0; k < p.inputs; ++k) {
      now.operand[k] = p.given[k].weak || p.given[k].type.axes == 0 ? p.given[k].type : with_choices(p.given[k].type, k);
      if (check_placements(now.operand[k]).what != code::ok) return;
    }
    if (!p.takes(now.operand.data)) return;
    if (p.has_target) {
      auto const more = after(now.result);
      if (more.cost >= unreachable_cost) return;
      cost += more.cost;
      count += more.steps;
      if (!better()) return;
    }
    now.cost = cost;
    now.steps = count;
    best = now;
    limit = cost;
    best_changed = changed;
    best_mask = mask;
  }

  constexpr bool share_list(int b, axis_choice const& c) const {
    auto const& other = choices[b].choice[chosen[b]];
    for (int k = 0; k < p.inputs; ++k)
      if (c.in[k].kind == placement_kind::shard && other.in[k].kind == placement_kind::shard && c.in[k].dim == other.in[k].dim) return true;
    return false;
  }

  /// Puts choice n of axis a at this depth into the states. False: it costs too much by the floors, or was said in another order.
  constexpr bool extend(int depth, partial_states& at, int a, int n) {
    std::int64_t least = 0;
    for (int k = 0; k < p.inputs; ++k) {
      int const f = field[a][n][k];
      auto& to = at.of[k];
      if (f >= 0) {
        auto const& floor = floors[k];
        int const id = ids[depth][k] = floor.id_of(a, static_cast<unsigned>(f));
        for (int i = 0; i <= depth; ++i) {
          int const b = order[i];
          auto const above = a >= b ? floor.above[a][b][id * pair_floors::ids + ids[i][k]] : floor.above[b][a][ids[i][k] * pair_floors::ids + id];
          if (!above) return false;
          if (above > to.least) to.least = above;
        }
        auto bits = static_cast<unsigned>(f);
        if ((bits & 3) == plan_shard) {
          unsigned const d = bits >> 2 & 7;
          bits |= static_cast<unsigned>(to.lengths >> (8 * d) & 255) << 5;
          to.lengths += std::uint64_t{1} << (8 * d);
        }
        to.state = with_field(to.state, a, bits);
      }
      if (to.least) least += to.least - 1;
      if (least > limit) return false;
    }
    chosen[a] = n;
    return true;
  }

  constexpr void descend(int depth, partial_states const& at) {
    if (depth == p.mesh.axes) return leaf(at);
    int const a = order[depth];
    for (int n = 0; n < choices[a].size; ++n) {
      if (depth && order[depth - 1] > a && !share_list(order[depth - 1], choices[a].choice[n])) continue; // another order says the same
      auto next = at;
      if (extend(depth, next, a, n)) descend(depth + 1, next);
    }
  }
};

struct path_cost {
  std::int64_t cost = 0;
  int steps = 0;
};

/// What an axis may hold.
template <class = void>
constexpr axis_choices choices_on(operation_problem const& p, int axis) { return choice_builder(p, axis).out; }

/// The cheapest plan by tables of distances. Ties: fewer steps, fewer operands changed, the leftmost ones unchanged, then the
/// order of the choices: a total order, so every compiler finds the same plan.
template <class Distance, class Steps, class After>
constexpr operation_plan cheapest(operation_problem const& p, axis_choices const* choices, planned_route const* routes, pair_floors const* floors,
                                  Distance const& distance, Steps const& steps, After const& after, std::int64_t limit = unreachable_cost) {
  combination_search<Distance, Steps, After> search{p, choices, routes, floors, distance, steps, after, limit};
  search.set_fields();
  int orders = 1; // of axes that shard one dimension; the mesh's first
  for (int n = 2; n <= p.mesh.axes; ++n) orders *= n;
  for (int n = 0; n < orders; ++n) {
    search.order = search_order(p.mesh.axes, n);
    search.descend(0, {});
  }
  return search.best;
}

/// The plan at run time, for tests and for sizes that only the run knows. `bytes[k]` of operand k; all 0: by the kinds of steps.
template <class = void>
constexpr operation_plan plan_operation(operation_problem const& p, fixed_array<std::int64_t, max_operands> const& bytes,
                                        std::int64_t result_bytes = 0) {
  if (fits_as_given(p)) {
    operation_plan out{0};
    for (int k = 0; k < p.inputs; ++k) out.operand[k] = p.given[k].type;
    out.result = p.as_given().type;
    return out;
  }
  fixed_array<axis_choices, max_mesh_axes> choices{};
  fixed_array<planned_route, max_operands> routes{};
  fixed_array<distances<1024>, max_operands> tables{};
  fixed_array<pair_floors, max_operands> floors{};
  for (int a = 0; a < p.mesh.axes; ++a) choices[a] = choices_on(p, a);
  for (int k = 0; k < p.inputs; ++k) {
    if (p.given[k].type.axes == 0) continue;
    routes[k] = route_of_operand(p, k);
    auto g = routes[k].problem;
    g.bytes = bytes[k];
    tables[k] = search<1024>(g, routes[k].from);
    floors[k] = floors_of(tables[k], g.axes);
  }
  return cheapest(
      p, choices.data, routes.data, floors.data, [&](int k, plan_state s) { return tables[k].to(s); },
      [&](int k, plan_state s) { return tables[k].steps_to(s); },
      [&](tensor_placement const& result) {
        auto const r = route_between(result, p.target, p.mesh);
        if (!r.possible) return path_cost{unreachable_cost, 0};
        auto g = r.problem;
        g.bytes = result_bytes;
        auto const path = search<1024>(g, r.from, &r.to).path(r.to);
        return path_cost{path.cost, path.size};
      });
}

} // namespace sla::plans
