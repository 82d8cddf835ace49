// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All that the operands of a call may become together, and what calls cost as planes in the sizes of the whole operands.
// The one combination that is cheapest at stated sizes is found in spmd/plan/operation.hpp.
#pragma once
#include <cstdint>

#include <sla/spmd/plan/operation.hpp>

namespace sla::plans {

/// The bytes of the whole operands, and of the whole result behind them.
using operand_bytes = fixed_array<std::int64_t, max_operands + 1>;

/// Plans of calls do not differ in what is cheapest for smaller tensors than this.
inline constexpr std::int64_t smallest_priced = 64;

/// A cost that is a plane in them, in units of linear_cost.
struct cost_plane {
  std::int64_t fixed = 0;
  operand_bytes per_byte{};
  constexpr bool operator==(cost_plane const&) const = default;
  constexpr std::int64_t at(operand_bytes const& bytes) const {
    std::int64_t sum = fixed * 65536;
    for (int k = 0; k <= max_operands; ++k)
      sum += saturated(per_byte[k], bytes[k] < smallest_priced ? smallest_priced : bytes[k] < largest_priced ? bytes[k] : largest_priced);
    return sum;
  }
  constexpr void add(int k, linear_cost const& l) {
    fixed += l.fixed;
    per_byte[k] += l.per_byte;
  }
};
/// Is a nowhere dearer than b, whatever the sizes from `smallest_priced` to `largest_priced`?
template <class = void>
constexpr bool is_below(cost_plane const& a, cost_plane const& b) {
  std::int64_t most = (a.fixed - b.fixed) * 65536;
  for (int k = 0; k <= max_operands; ++k) {
    auto const slope = a.per_byte[k] - b.per_byte[k];
    most += saturated(slope, slope > 0 ? largest_priced : smallest_priced);
  }
  return most <= 0;
}

/// Do two operands have the same indices in the same order, and so the same extents? -1: the result.
template <class = void>
constexpr bool same_indices(operation_problem const& p, int k, int l) {
  auto const rank = [&](int n) { return n < 0 ? p.how.result_rank[0] : p.given[n].type.rank; };
  auto const slot_of = [](rule const& r, int n) { return n < 0 ? r.out[0] : r.in[n]; };
  if (rank(k) != rank(l)) return false;
  unsigned met = 0;
  for (int n = 0; n < p.how.size; ++n) {
    auto const a = slot_of(p.how.rules[n], k), b = slot_of(p.how.rules[n], l);
    if (a.kind != slot_kind::shard && b.kind != slot_kind::shard) continue;
    if (a.kind != b.kind || a.dim != b.dim) return false;
    met |= 1U << a.dim;
  }
  return met == (1U << rank(k)) - 1U;
}

/// The dimension of an operand that has the index of a dimension of the result, and so its extent; operand -1: no rule says.
struct extent_source {
  std::int8_t operand = -1, dim = -1;
};
template <class = void>
constexpr extent_source source_of_extent(operation_problem const& p, int d) {
  for (int k = 0; k < p.inputs; ++k)
    if (int const e = dim_of_index(p.how, -1, d, k); e >= 0) return {static_cast<std::int8_t>(k), static_cast<std::int8_t>(e)};
  return {};
}

inline constexpr int max_combinations = 64, max_targets = 32;

/// Placements that are met, each once.
struct target_list {
  int size = 0;
  fixed_array<tensor_placement, max_targets> at{};
  /// The number of a placement; -1 if there are too many.
  constexpr int number(tensor_placement const& t) {
    for (int n = 0; n < size; ++n)
      if (at[n] == t) return n;
    if (size == max_targets) return -1;
    at[size] = t;
    return size++;
  }
};

/// One combination: the number of each operand's placement, and of the result's.
struct combination {
  fixed_array<std::int8_t, max_operands> operand{};
  std::int8_t result = 0;
  constexpr bool operator==(combination const&) const = default;
};

/// What the operation accepts, of operands that steps may lead there.
struct combinations {
  bool complete = true; ///< false: there are more
  int size = 0;
  fixed_array<combination, max_combinations> at{};
  fixed_array<target_list, max_operands> operand{};
  target_list result{};

  constexpr void add(operation_plan const& p, int inputs) {
    combination c;
    bool fits = true;
    for (int k = 0; k < inputs; ++k) {
      int const n = operand[k].number(p.operand[k]);
      c.operand[k] = static_cast<std::int8_t>(n);
      fits = fits && n >= 0;
    }
    c.result = static_cast<std::int8_t>(result.number(p.result));
    for (int n = 0; n < size; ++n)
      if (at[n] == c) return;
    complete = complete && fits && c.result >= 0 && size < max_combinations;
    if (complete) at[size++] = c;
  }
};

/// The placements of operand k (of the result: -1) by the choices of the axes, which shard in this order.
template <class = void>
constexpr tensor_placement chosen_typing(tensor_placement t, int k, axis_choice const* const* chosen, fixed_array<int, max_mesh_axes> const& order, int axes) {
  for (int a = 0; a < axes; ++a) t.on[a] = k < 0 ? chosen[a]->out : chosen[a]->in[k];
  for (int d = 0; d < t.rank; ++d) {
    dim_axes list;
    for (int i = 0; i < axes; ++i)
      if (t.on[order[i]].kind == placement_kind::shard && t.on[order[i]].dim == d) list.add(order[i]);
    set_levels(t, list);
  }
  return t;
}

/// All combinations, `first` before the others; without a target those that have its result.
template <class = void>
constexpr combinations combinations_of(operation_problem const& p, axis_choices const* choices, operation_plan const& first) {
  combinations out;
  out.add(first, p.inputs);
  axis_choice const* chosen[max_mesh_axes] = {};
  fixed_array<int, max_mesh_axes> order{};
  fixed_array<planned_route, max_operands> route{};
  for (int k = 0; k < p.inputs; ++k)
    if (p.given[k].type.axes > 0) route[k] = route_of_operand(p, k);
  auto const take = [&] {
    operation_plan now;
    now.result.axes = p.mesh.axes;
    now.result.rank = p.how.result_rank[0];
    now.result.batch = p.how.result_batch[0];
    now.result = chosen_typing(now.result, -1, chosen, order, p.mesh.axes);
    if (check_placements(now.result).what != code::ok || (!p.has_target && !(now.result == first.result))) return;
    for (int k = 0; k < p.inputs; ++k) {
      bool const typed = !p.given[k].weak && p.given[k].type.axes > 0;
      now.operand[k] = typed ? chosen_typing(p.given[k].type, k, chosen, order, p.mesh.axes) : p.given[k].type;
      if (check_placements(now.operand[k]).what != code::ok) return;
      if (typed && !follows_models(route[k].problem, state_of(route[k], now.operand[k]))) return;
    }
    if (p.takes(now.operand.data)) out.add(now, p.inputs);
  };
  auto const descend = [&](auto const& self, int a) -> void {
    if (a == p.mesh.axes) return take();
    for (int n = 0; n < choices[a].size; ++n) {
      auto const &is = choices[a].choice[n].out, &was = first.result.on[a];
      if (!p.has_target && (is.kind != was.kind || is.fold != was.fold || is.dim != was.dim || is.family != was.family)) continue;
      chosen[a] = &choices[a].choice[n];
      self(self, a + 1);
    }
  };
  int orders = 1;
  for (int n = 2; n <= p.mesh.axes; ++n) orders *= n;
  for (int n = 0; n < orders && out.complete; ++n) {
    order = search_order(p.mesh.axes, n);
    descend(descend, 0);
  }
  return out;
}

/// One way to make the call: a combination, and for each operand and the result one of its paths by size.
struct priced_call {
  std::int8_t combination = 0;
  fixed_array<std::int8_t, max_operands + 1> piece{};
  cost_plane cost{};
};

inline constexpr int max_priced_calls = 12;

/// Calls of which none costs more than another one at all sizes: the cheapest at any size is among them.
struct priced_calls {
  bool complete = true; ///< false: there are more
  int size = 0;
  fixed_array<priced_call, max_priced_calls> at{};

  constexpr void add(priced_call const& c) {
    for (int n = 0; n < size; ++n)
      if (is_below(at[n].cost, c.cost)) return;
    int kept = 0;
    for (int n = 0; n < size; ++n)
      if (!is_below(c.cost, at[n].cost)) at[kept++] = at[n];
    size = kept;
    complete = complete && size < max_priced_calls;
    if (complete) at[size++] = c;
  }
};

/// The costs of the paths to one placement, one for each range of sizes; none: there is no path.
struct path_cost_lines {
  int size = 0;
  fixed_array<linear_cost, max_pieces> line{};
};

/// For each operand, and then the result: the first operand of equal size.
using size_names = fixed_array<std::int8_t, max_operands + 1>;

/// The calls by all combinations. `lines[k]` are those of operand k by the number of its placement, `lines[inputs]` those of the result.
template <class = void>
constexpr priced_calls priced_calls_of(combinations const& all, int inputs, path_cost_lines const* const* lines, size_names const& sized_as) {
  priced_calls out;
  for (int n = 0; n < all.size && out.complete; ++n) {
    priced_call c;
    c.combination = static_cast<std::int8_t>(n);
    auto const choose = [&](auto const& self, int k, cost_plane const& so_far) -> void {
      if (k > inputs) {
        c.cost = so_far;
        return out.add(c);
      }
      auto const& ways = lines[k][k < inputs ? all.at[n].operand[k] : all.at[n].result];
      for (int w = 0; w < ways.size; ++w) {
        auto next = so_far;
        next.add(sized_as[k], ways.line[w]);
        c.piece[k] = static_cast<std::int8_t>(w);
        self(self, k + 1, next);
      }
    };
    choose(choose, 0, {});
  }
  return out;
}

} // namespace sla::plans
