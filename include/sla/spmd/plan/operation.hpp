// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cheapest way to make the operands of one operation fit its strategy: costs of operands add, so one search per
// operand and a loop over what the axes may hold are exact. Plans of one tensor are in spmd/plan/route.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/spmd/plan/route.hpp>
#include <sla/spmd/rules.hpp>
#include <sla/spmd/strategy.hpp>

namespace sla::plans {

inline constexpr int max_axis_choices = 96;

/// What is given when an operation is to be planned.
struct operation_problem {
  strategy how{};
  int inputs = 0;
  fixed_array<operand, max_operands> given{};
  fixed_array<std::int8_t, max_operands> same_as{{-1, -1, -1, -1, -1, -1}}; ///< the earlier operand that this one is
  fixed_array<bool, max_operands> stays{};                                   ///< operands that no plan moves
  plan_setting mesh{};
  bool wished = false;
  typing wish{}; ///< the placements wanted of the first result

  constexpr std::span<operand const> operands() const { return {given.data, static_cast<std::size_t>(inputs)}; }
};

/// What the operands may hold on one axis, and what the result is then; in order of preference.
struct axis_choice {
  fixed_array<placed, max_operands> in{};
  placed out{};
};
struct axis_choices {
  int size = 0;
  axis_choice choice[max_axis_choices] = {};
};

/// The chosen placements, before the operation and after it.
struct operation_plan {
  std::int64_t cost = unreachable_cost;
  int steps = 0;
  fixed_array<typing, max_operands> operand{};
  typing result{};
  constexpr bool reachable() const { return cost < unreachable_cost; }
};

/// Do the operands fit as they are? Then nothing is searched.
constexpr bool fits_as_given(operation_problem const& p) {
  auto const now = check(p.how, p.operands());
  return now.ok() && (!p.wished || now.type == p.wish);
}

/// The problem of one operand, with all of its placements as targets; `to` of it says nothing.
constexpr planned_route route_of_operand(operation_problem const& p, int k) {
  typing kinds = p.given[k].type;
  route_wish wish;
  wish.all_targets = true;
  auto const meet = [&](typing const& t) {
    for (int a = 0; a < t.axes; ++a) {
      if (t.on[a].kind == placement_kind::shard) wish.families |= 1U << t.on[a].family;
      if (t.on[a].kind == placement_kind::invariant && is_movable(kinds.on[a].kind)) kinds.on[a] = t.on[a];
    }
  };
  for (auto const& o : p.operands()) meet(o.type);
  if (p.wished) meet(p.wish);
  return route_between(p.given[k].type, kinds, p.mesh, wish);
}

struct choice_builder {
  operation_problem const& p;
  int axis;
  fixed_array<operand, max_operands> trial{};
  fixed_array<std::int16_t, max_plan_families> family{};
  int families = 0;
  bool invariant = false;
  axis_choices out{};

  constexpr choice_builder(operation_problem const& problem, int a) : p(problem), axis(a), trial(problem.given) {
    auto const meet = [&](typing const& t) {
      for (int b = 0; b < t.axes; ++b)
        if (t.on[b].kind == placement_kind::shard) {
          int f = 0;
          while (f < families && family[f] != t.on[b].family) ++f;
          if (f == families && families < max_plan_families) family[families++] = t.on[b].family;
        }
      invariant = invariant || t.on[axis].kind == placement_kind::invariant;
    };
    for (auto const& o : p.operands()) meet(o.type);
    if (p.wished) meet(p.wish);
    if (p.how.known && p.how.inputs == p.inputs) put(0);
  }

  constexpr void put(int k) { // what operand k and the later ones may hold
    if (k == p.inputs) {
      auto const one = detail::decide(p.how, {trial.data, static_cast<std::size_t>(k)}, axis, {});
      if (one.why != code::ok || out.size == max_axis_choices) return;
      auto& c = out.choice[out.size++];
      for (int n = 0; n < k; ++n) c.in[n] = trial[n].type.on[axis];
      c.out = one.at[0];
      return;
    }
    auto const& o = p.given[k];
    auto const now = o.type.on[axis];
    auto& at = trial[k].type.on[axis];
    auto const with = [&](placed to) {
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

/// The k-th order of n axes.
constexpr fixed_array<int, max_mesh_axes> search_order(int n, int k) {
  fixed_array<int, max_mesh_axes> left{}, order{};
  for (int i = 0; i < n; ++i) left[i] = i;
  int weight = 1;
  for (int i = 2; i <= n; ++i) weight *= i;
  for (int i = 0; i < n; ++i) {
    weight /= n - i;
    int const pick = k / weight;
    k %= weight;
    order[i] = left[pick];
    for (int m = pick; m + 1 < n - i; ++m) left[m] = left[m + 1];
  }
  return order;
}

/// The loop over all combinations. `distance(k, state)` and `steps(k, state)` speak of operand k, `after(result)` of the way from
/// a result to the wish.
template <class Distance, class Steps, class After>
struct combination_search {
  operation_problem const& p;
  axis_choices const* choices; ///< per axis
  planned_route const* route;  ///< per operand
  Distance const& distance;
  Steps const& steps;
  After const& after;
  operation_plan best{};
  int best_changed = 0, best_mask = 0;
  fixed_array<int, max_mesh_axes> order{}, chosen{};

  struct partial_state {
    plan_state state = 0;
    std::int8_t length[max_dims] = {};
  };

  constexpr plan_state extended(planned_route const& r, partial_state& s, int a, placed at) const {
    if (r.problem.fixed >> a & 1) return s.state;
    unsigned field = plan_field(plan_copies);
    if (at.kind == placement_kind::invariant) field = plan_field(plan_invariant);
    if (at.kind == placement_kind::partial) field = plan_field(plan_partial, static_cast<unsigned>(at.fold));
    if (at.kind == placement_kind::shard) {
      unsigned family = 0;
      for (int f = 0; f < r.problem.families; ++f)
        if (r.family[f] == at.family) family = static_cast<unsigned>(f);
      field = plan_field(plan_shard, static_cast<unsigned>(at.dim), static_cast<unsigned>(s.length[at.dim]++), family);
    }
    return s.state = with_field(s.state, a, field);
  }

  constexpr bool moves(int k) const { return !p.given[k].weak && p.given[k].type.axes > 0 && p.same_as[k] < 0 && !p.stays[k]; }

  constexpr typing with_choices(typing t, int k, bool result = false) const {
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

  constexpr void leaf(fixed_array<partial_state, max_operands> const& at) {
    std::int64_t cost = 0;
    int count = 0, changed = 0, mask = 0;
    for (int k = 0; k < p.inputs; ++k) {
      if (!moves(k)) continue;
      auto const d = distance(k, at[k].state);
      if (d >= unreachable_cost) return;
      cost += d;
      if (cost > best.cost) return;
      count += steps(k, at[k].state);
      if (at[k].state != route[k].from) ++changed, mask |= 1 << (max_operands - k);
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
    if (p.wished) {
      auto const more = after(now.result);
      if (more.cost >= unreachable_cost) return;
      cost += more.cost;
      count += more.steps;
      if (!better()) return;
    }
    now.cost = cost;
    now.steps = count;
    best = now;
    best_changed = changed;
    best_mask = mask;
  }

  constexpr bool share_list(int b, axis_choice const& c) const {
    auto const& other = choices[b].choice[chosen[b]];
    for (int k = 0; k < p.inputs; ++k)
      if (c.in[k].kind == placement_kind::shard && other.in[k].kind == placement_kind::shard && c.in[k].dim == other.in[k].dim) return true;
    return false;
  }

  constexpr void descend(int depth, fixed_array<partial_state, max_operands> const& at) {
    if (depth == p.mesh.axes) return leaf(at);
    int const a = order[depth];
    for (int n = 0; n < choices[a].size; ++n) {
      if (depth && order[depth - 1] > a && !share_list(order[depth - 1], choices[a].choice[n])) continue; // another order says the same
      chosen[a] = n;
      auto next = at;
      for (int k = 0; k < p.inputs; ++k)
        if (moves(k)) extended(route[k], next[k], a, choices[a].choice[n].in[k]);
      descend(depth + 1, next);
    }
  }
};

struct way {
  std::int64_t cost = 0;
  int steps = 0;
};

/// What an axis may hold.
constexpr axis_choices choices_on(operation_problem const& p, int axis) { return choice_builder(p, axis).out; }

/// The cheapest plan by tables of distances. Ties: fewer steps, fewer operands changed, the leftmost ones unchanged, then the
/// order of the choices: a total order, so every compiler finds the same plan.
template <class Distance, class Steps, class After>
constexpr operation_plan cheapest(operation_problem const& p, axis_choices const* choices, planned_route const* routes,
                                  Distance const& distance, Steps const& steps, After const& after) {
  combination_search<Distance, Steps, After> search{p, choices, routes, distance, steps, after};
  int orders = 1; // of axes that deal out one dimension; the mesh's first
  for (int n = 2; n <= p.mesh.axes; ++n) orders *= n;
  for (int n = 0; n < orders; ++n) {
    search.order = search_order(p.mesh.axes, n);
    search.descend(0, {});
  }
  return search.best;
}

/// The plan at run time, for tests and for sizes that only the run knows. `bytes[k]` of operand k; all 0: by the kinds of steps.
constexpr operation_plan plan_operation(operation_problem const& p, fixed_array<std::int64_t, max_operands> const& bytes,
                                        std::int64_t result_bytes = 0) {
  if (fits_as_given(p)) {
    operation_plan out{0};
    for (int k = 0; k < p.inputs; ++k) out.operand[k] = p.given[k].type;
    out.result = check(p.how, p.operands()).type;
    return out;
  }
  fixed_array<axis_choices, max_mesh_axes> choices{};
  fixed_array<planned_route, max_operands> routes{};
  fixed_array<distances<1024>, max_operands> tables{};
  for (int a = 0; a < p.mesh.axes; ++a) choices[a] = choices_on(p, a);
  for (int k = 0; k < p.inputs; ++k) {
    if (p.given[k].type.axes == 0) continue;
    routes[k] = route_of_operand(p, k);
    auto g = routes[k].problem;
    g.bytes = bytes[k];
    tables[k] = search<1024>(g, routes[k].from);
  }
  return cheapest(
      p, choices.data, routes.data, [&](int k, plan_state s) { return tables[k].to(s); },
      [&](int k, plan_state s) { return tables[k].steps_to(s); },
      [&](typing const& result) {
        auto const r = route_between(result, p.wish, p.mesh);
        if (!r.possible) return way{unreachable_cost, 0};
        auto g = r.problem;
        g.bytes = result_bytes;
        auto const path = search<1024>(g, r.from, &r.to).path(r.to);
        return way{path.cost, path.size};
      });
}

} // namespace sla::plans
