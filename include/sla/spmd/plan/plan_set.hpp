// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a call whose operands have sizes that only the run knows: a set of plans that end in one placement, each with its
// cost as a plane in those sizes. Plans at stated sizes are in spmd/plan/call.hpp; dist/ carries plans out.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/spmd/plan/call.hpp>
#include <sla/spmd/plan/combinations.hpp>

namespace sla::plans {

/// A plan of a call and its cost: Fixed picoseconds, and 2^-16 of PerByte for each byte of the whole operands and of the result.
template <class Plan, std::int64_t Fixed, std::int64_t... PerByte>
struct Priced {
  using plan = Plan;
};
/// Plans of one call: the cheapest one is taken, by the sizes of the whole operands, which all ranks know; of those whose equal
/// pieces the extents have, else the Indivisible one, where all shard such pieces.
template <class... Plans>
struct PlanSet {
  static constexpr int size = static_cast<int>(sizeof...(Plans));
};

/// Do sizes that no type tells decide between plans? Of larger meshes, and where there are too many plans, sizes are taken to
/// be equal.
template <class Query>
inline constexpr bool sizes_decide = [] {
  if (Query::setting::open || Query::trivial || Query::problem.mesh.axes > (Query::problem.has_target ? 2 : 3)) return false;
  bool any = false;
  for (int k = 0; k < Query::problem.inputs; ++k) any = any || (!Query::problem.stays[k] && Query::bytes[k] == 0);
  return any;
}();

/// Whose size each operand has. Elements of one width are compared; the result's counts as that of the operand that it has the indices of.
template <class Query>
struct sizes_in;
template <class Op, class Target, class... Ts>
struct sizes_in<call_query<Op, Target, Ts...>> {
  template <class T>
  static consteval int width() {
    if constexpr (requires { typename local_of_t<T>::value_type; })
      return static_cast<int>(sizeof(typename local_of_t<T>::value_type));
    else
      return 0;
  }
  static constexpr size_names value = [] {
    auto const& p = call_query<Op, Target, Ts...>::problem;
    int const widths[] = {width<Ts>()...};
    size_names out;
    for (int k = 0; k <= p.inputs; ++k) {
      bool const result = k == p.inputs;
      out[k] = static_cast<std::int8_t>(k);
      for (int n = k; n-- > 0;)
        if ((result || widths[n] == widths[k]) && widths[n] && same_indices(p, n, result ? -1 : k)) out[k] = static_cast<std::int8_t>(n);
    }
    return out;
  }();
};

template <class Query, int... A>
consteval combinations combinations_in(std::integer_sequence<int, A...>) {
  axis_choices const choices[] = {choices_v<Query, A>...};
  return combinations_of(Query::problem, choices, best_call_v<Query>);
}
template <class Query>
inline constexpr combinations combinations_v = combinations_in<Query>(std::make_integer_sequence<int, Query::mesh_type::rank>{});

/// The path of operand K to the N-th of its placements, as a query of one tensor.
template <class Query, int K, int N>
struct operand_way {
  using mesh_type = typename Query::mesh_type;
  using keys = typename Query::keys;
  static constexpr bool by_class = false, of_result = false;
  static constexpr tensor_placement from = Query::problem.given[K].type, to = combinations_v<Query>.operand[K].at[N];
  static constexpr global_size whole{{}, Query::bytes[K]};
  static constexpr planned_route route(bool avoid_new_even_shards) { return route_between(from, to, Query::setting::value, {false, avoid_new_even_shards, false, {}}); }
};
/// The path of the N-th result to the target. Its extents are not known before it is computed, so the path creates no Even shards.
template <class Query, int N>
struct result_way {
  using mesh_type = typename Query::mesh_type;
  using keys = typename Query::keys;
  static constexpr bool by_class = false, of_result = true;
  static constexpr tensor_placement from = combinations_v<Query>.result.at[N], to = Query::problem.has_target ? Query::problem.target : from;
  static constexpr global_size whole{{}, Query::problem.how.result_rank[0] == 0 ? 8 : 0};
  static constexpr planned_route route(bool) { return route_between(from, to, Query::setting::value, {false, true, false, {}}); }
};

/// One piece of the paths by size; an operand that stays has no steps.
template <class Way, int Piece>
struct way_path : Way {
  static constexpr int piece = Piece;
  using way = Way;
  static constexpr step_list value = [] {
    if constexpr (Way::from == Way::to)
      return step_list{};
    else
      return pieces_v<Way>.path[Piece];
  }();
};
/// The path for extents that Even shards do not divide.
template <class Way>
struct cautious_path : Way {
  static constexpr planned_route route(bool) { return Way::route(true); }
  static constexpr step_list value = [] {
    if constexpr (Way::from == Way::to)
      return step_list{};
    else
      return without_new_even_shards_v<Way>;
  }();
};
/// Does this path create an Even shard that the operand did not have? A shard of its target counts: the planner chose it.
template <class Path>
inline constexpr bool reshards = [] {
  auto r = Path::route(false);
  r.problem.target_axes = {};
  return needs_division(r, Path::value);
}();

/// The costs of a path, one for each range of sizes.
struct by_size {
  template <class Way>
  static constexpr path_cost_lines lines = [] {
    path_cost_lines out;
    if constexpr (Way::from == Way::to) {
      out.size = 1;
    } else if constexpr (pieces_v<Way>.path[0].reachable()) {
      for (; out.size < pieces_v<Way>.size; ++out.size) {
        auto& line = out.line[out.size] = line_of(Way::route(false).problem, pieces_v<Way>.path[out.size]);
        if (Way::whole.bytes) line = {line.at(Way::whole.bytes) / 65536, 0};
      }
    }
    return out;
  }();
};
/// The cost of the path without new Even shards alone.
struct whatever_divides {
  template <class Way>
  static constexpr path_cost_lines lines = [] {
    path_cost_lines out;
    if (cautious_path<Way>::value.reachable() && (Way::of_result || !reshards<cautious_path<Way>>))
      out.line[out.size++] = line_of(Way::route(true).problem, cautious_path<Way>::value);
    return out;
  }();
};

template <class Which, class Query, int K, class Numbers>
inline constexpr fixed_array<path_cost_lines, max_targets> lines_to_all{};
template <class Which, class Query, int K, int... N>
inline constexpr fixed_array<path_cost_lines, max_targets> lines_to_all<Which, Query, K, std::integer_sequence<int, N...>>{
    {Which::template lines<operand_way<Query, K, N>>...}};
template <class Which, class Query, class Numbers>
inline constexpr fixed_array<path_cost_lines, max_targets> costs_to_target{};
template <class Which, class Query, int... N>
inline constexpr fixed_array<path_cost_lines, max_targets> costs_to_target<Which, Query, std::integer_sequence<int, N...>>{
    {Which::template lines<result_way<Query, N>>...}};

template <class Which, class Query, int... K>
consteval priced_calls price_all(std::integer_sequence<int, K...>) {
  path_cost_lines const* const lines[] = {
      lines_to_all<Which, Query, K, std::make_integer_sequence<int, combinations_v<Query>.operand[K].size>>.data...,
      costs_to_target<Which, Query, std::make_integer_sequence<int, combinations_v<Query>.result.size>>.data};
  return priced_calls_of(combinations_v<Query>, Query::problem.inputs, lines, sizes_in<Query>::value);
}
/// The plans that sizes choose from.
template <class Query>
inline constexpr priced_calls plan_set_v = [] {
  if constexpr (combinations_v<Query>.complete)
    return price_all<by_size, Query>(std::make_integer_sequence<int, Query::problem.inputs>{});
  else
    return priced_calls{false};
}();
/// The plan for extents that the pieces of those do not divide: at equal sizes. Its combination is -1 where there is none.
template <class Query>
inline constexpr priced_call undivided_v = [] {
  constexpr auto all = price_all<whatever_divides, Query>(std::make_integer_sequence<int, Query::problem.inputs>{});
  operand_bytes equal;
  for (int k = 0; k <= max_operands; ++k) equal[k] = nominal_bytes;
  priced_call best{-1};
  for (int n = 0; n < all.size; ++n)
    if (best.combination < 0 || all.at[n].cost.at(equal) < best.cost.at(equal)) best = all.at[n];
  return best;
}();

/// The N-th plan of a set.
template <class Query, int N>
struct set_member {
  static constexpr priced_call call = plan_set_v<Query>.at[N];
  static constexpr combination chosen = combinations_v<Query>.at[call.combination];
  template <int K>
  using before = way_path<operand_way<Query, K, chosen.operand[K]>, call.piece[K]>;
  using after = way_path<result_way<Query, chosen.result>, call.piece[Query::problem.inputs]>;
};
/// The one for indivisible extents.
template <class Query>
struct undivided_member {
  static constexpr combination chosen = combinations_v<Query>.at[undivided_v<Query>.combination];
  template <int K>
  using before = cautious_path<operand_way<Query, K, chosen.operand[K]>>;
  using after = cautious_path<result_way<Query, chosen.result>>;
};

template <class Op, class Query, class Operands, class Members>
struct set_type;
template <class Op, class Query, int... K, int... N>
struct set_type<Op, Query, std::integer_sequence<int, K...>, std::integer_sequence<int, N...>> {
  template <class Member>
  using plan = typename plan_by<Op, std::integer_sequence<int, K...>, typename Member::after, typename Member::template before<K>...>::type;
  template <int M>
  static constexpr cost_plane cost = plan_set_v<Query>.at[M].cost;
  template <int M>
  using priced = Priced<plan<set_member<Query, M>>, cost<M>.fixed, cost<M>.per_byte[K]..., cost<M>.per_byte[sizeof...(K)]>;
  template <int M>
  static constexpr bool member_reshards = (reshards<typename set_member<Query, M>::template before<K>> || ...);
  static constexpr bool has_fallback = [] { // else there is always one that fits
    if constexpr ((member_reshards<N> && ...))
      return undivided_v<Query>.combination >= 0;
    else
      return false;
  }();

  static consteval auto make() {
    if constexpr (has_fallback)
      return std::type_identity<PlanSet<priced<N>..., Indivisible<plan<undivided_member<Query>>>>>{};
    else if constexpr (sizeof...(N) == 1)
      return std::type_identity<plan<set_member<Query, 0>>>{};
    else
      return std::type_identity<PlanSet<priced<N>...>>{};
  }
  using type = typename decltype(make())::type;
};

/// Is the plan a set?
template <class Query>
inline constexpr bool has_plan_set = [] {
  if constexpr (sizes_decide<Query>)
    return plan_set_v<Query>.complete && plan_set_v<Query>.size > 0;
  else
    return false;
}();

template <class Op, class Query>
using set_type_of = set_type<Op, Query, std::make_integer_sequence<int, Query::problem.inputs>, std::make_integer_sequence<int, plan_set_v<Query>.size>>;
/// Is one plan best at all sizes?
template <class Op, class Query>
inline constexpr bool is_one_plan = plan_set_v<Query>.size == 1 && !set_type_of<Op, Query>::has_fallback;

template <class Op, class Query, class Operands>
struct plan_type;
template <class Op, class Query, int... K>
struct plan_type<Op, Query, std::integer_sequence<int, K...>> {
  template <class... Before>
  using plan = typename plan_by<Op, std::integer_sequence<int, K...>, result_path<Query>, Before...>::type;
  static consteval auto make() {
    if constexpr (has_plan_set<Query>)
      return std::type_identity<typename set_type_of<Op, Query>::type>{};
    else
      return std::type_identity<plan<operand_path<Query, K>...>>{};
  }
  using type = typename decltype(make())::type;
};

/// The plan of `auto_plan<Op>(x, ...)`: a Plan, or a PlanSet where sizes decide that no type tells;
/// `plan_of<Op, To<...>, X...>` that of `auto_plan<Op, To<...>>(x, ...)`.
template <class Op, class... Ts>
using plan_of = typename plan_type<Op, requested_op_t<Op, Ts...>, std::make_integer_sequence<int, requested_op_t<Op, Ts...>::problem.inputs>>::type;

template <step How, class Plan, std::int64_t Fixed, std::int64_t... PerByte>
inline constexpr int count_in<How, Priced<Plan, Fixed, PerByte...>> = count_in<How, Plan>;
template <step How, class... Plans>
inline constexpr int count_in<How, PlanSet<Plans...>> = count_in<How, Envelope<Plans...>>;

} // namespace sla::plans

namespace sla {
using plans::plan_of;
} // namespace sla
