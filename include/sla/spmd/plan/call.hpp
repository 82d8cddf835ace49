// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of a call as a type: what each operand becomes, and what the result is, at stated sizes. The search is in
// spmd/plan/operation.hpp; plans for sizes that only the run knows are in spmd/plan/plan_set.hpp.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/spmd/plan/plan_steps.hpp>
#include <sla/spmd/plan/target.hpp>
#include <sla/spmd/rule/compose.hpp>
#include <sla/spmd/rule/well_typed.hpp>

namespace sla {

/// The placements wanted of a result: `auto_plan<op::add, To<Shard<0>>>(a, b)`.
template <Placement... P>
struct To {};

} // namespace sla

namespace sla::plans {

/// The steps of operand N before the operation.
template <int N, class... Steps>
struct Arg : Route<Steps...> {};
/// The operation on what the operands have become.
template <class Op>
struct Apply {};
/// The steps of the result after the operation, to what was wanted of it.
template <class... Steps>
struct Result : Route<Steps...> {};
/// A plan of one call: Plan<Arg<0, AllGather<...>>, Arg<1>, Apply<op::add>, Result<>>.
template <class... Parts>
struct Plan {};

/// The strategy that a rule has for these operands. A composition of other operations has none, and no plan.
template <class = void>
constexpr strategy planned_strategy(op_rule const& rule, std::span<operand const> operands) { return strategy_of(rule, operands); }
constexpr strategy planned_strategy(strategy const& rule, std::span<operand const>) { return rule; }
template <class F>
constexpr strategy planned_strategy(rules::chosen<F> const& rule, std::span<operand const> operands) {
  return planned_strategy(rule.f(operands), operands);
}
template <class Rule>
constexpr strategy planned_strategy(Rule const&, std::span<operand const>) {
  strategy none;
  none.known = false;
  return none;
}

/// Has the rule such a table?
template <class Rule>
inline constexpr bool has_strategy = std::is_same_v<Rule, op_rule> || std::is_same_v<Rule, strategy>;
template <class F>
inline constexpr bool has_strategy<rules::chosen<F>> = true;

/// What is asked when Op is to be called on Ts: Target is the list of placements that its results are to have, empty for any.
template <class Op, class Target, class... Ts>
struct call_query {
  using mesh_type = typename detail::first_mesh<Ts...>::type;
  using keys = typename detail::joined_keys<placements<Shard<0>>, typename operand_traits<Ts>::placement_list..., Target>::type;
  using setting = setting_of<mesh_type, keys>;

  template <class T>
  static consteval global_size whole_of() {
    if constexpr (Distributed<T>)
      return global_size_of<local_of_t<T>>(detail::operand_of<T, mesh_type, keys>().type, setting::value);
    else
      return {{}, 8};
  }
  static constexpr std::int64_t bytes[sizeof...(Ts)] = {whole_of<Ts>().bytes...};

  static constexpr operation_problem problem = [] {
    operation_problem p;
    p.inputs = static_cast<int>(sizeof...(Ts));
    p.mesh = setting::value;
    int k = 0;
    ((p.given[k] = detail::operand_of<Ts, mesh_type, keys>(), p.stays[k] = !Distributed<Ts> || p.given[k].type.is_sparse(),
      p.extent[k] = setting::open ? fixed_array<std::int64_t, max_dims>{} : whole_of<Ts>().extent, ++k),
     ...);
    p.context = detail::call_context_for<std::remove_cvref_t<decltype(rule_of<Op>)>, mesh_type, keys>();
    p.how = planned_strategy(rule_of<Op>, p.operands());
    []<class... Q>(operation_problem& q, placements<Q...>) {
      if constexpr (sizeof...(Q) > 0) {
        static_assert(sizeof...(Q) == mesh_type::rank, "sla: To<...> has one placement for each axis of the mesh");
        q.has_target = true;
        q.target.axes = q.mesh.axes;
        q.target.rank = q.how.result_rank[0];
        q.target.batch = q.how.result_batch[0];
        int a = 0;
        ((q.target.on[a++] = detail::to_value<Q, keys>()), ...);
        q.target = canonical(q.target);
      }
    }(p, Target{});
    return p;
  }();
  static constexpr bool trivial = fits_as_given(problem);
  // Sizes that no type tells are taken to be equal: then time decides. Of a mesh whose own size is open, the kinds of steps.
  static constexpr std::int64_t priced(std::int64_t known) { return setting::open ? 0 : known > 0 ? known : nominal_bytes; }
  static constexpr std::int64_t result_bytes = priced(problem.how.result_rank[0] == 0 ? 8 : 0);
  /// Where the largest operand is priced as a smaller one, all are, by one factor: they are compared.
  static constexpr std::int64_t scaled(std::int64_t mine, topology const& t) {
    std::int64_t largest = 1;
    for (auto const b : bytes) largest = priced(b) > largest ? priced(b) : largest;
    auto const less = mine / (1 + (largest - 1) / largest_priced_on(t));
    return mine > 0 && less == 0 ? 1 : less;
  }
};

template <class Query, int A>
inline constexpr axis_choices choices_v = choices_on(Query::problem, A);

template <class Query, int K>
struct operand_problem {
  static constexpr planned_route route = route_of_operand(Query::problem, K);
  static constexpr route_problem value = [] {
    auto g = route.problem;
    g.bytes = Query::scaled(Query::priced(Query::bytes[K]), g.wired);
    return g;
  }();
  static constexpr search_aim aim{};
};
template <class Query>
struct result_problem {
  static constexpr planned_route route = [] {
    auto r = route_of_result(Query::problem);
    r.problem.bytes = Query::scaled(Query::result_bytes, r.problem.wired);
    return r;
  }();
  static constexpr int capacity = [] { // results may also be pending or Invariant
    auto g = route.problem;
    g.to_partial = g.to_invariant = 0xff;
    return capacity_for(g, route.from);
  }();
};

/// Is operand K led anywhere? Then its distances after so many rounds of its search.
template <class Query, int K>
inline constexpr bool is_led = !Query::problem.stays[K] && !Query::problem.given[K].weak && Query::problem.given[K].type.axes > 0;
template <class Query, int K, int Round>
consteval auto const& distances_of() {
  return search_round<operand_problem<Query, K>, operand_problem<Query, K>::route.from, Round>;
}
template <class Query, int K, int Round>
inline constexpr pair_floors floors_v = [] {
  if constexpr (is_led<Query, K>)
    return floors_of(distances_of<Query, K, Round>(), Query::mesh_type::rank);
  else
    return pair_floors{};
}();

template <class Query, int... A>
consteval auto table_of_ways(std::integer_sequence<int, A...>) {
  using result = result_problem<Query>;
  axis_choices const choices[] = {choices_v<Query, A>...};
  auto const seeds = seeds_of(Query::problem, choices);
  return path_costs_to<result::capacity>(result::route.problem, result::route.to, seeds.state.data, seeds.size);
}
template <class Query>
inline constexpr auto path_costs_v = table_of_ways<Query>(std::make_integer_sequence<int, Query::mesh_type::rank>{});

/// The best of what is settled after so many rounds of each operand's search.
template <class Query, int... A, int... K, int... Round>
consteval operation_plan cheapest_call(std::integer_sequence<int, A...>, std::integer_sequence<int, K...>, std::integer_sequence<int, Round...>,
                                       std::int64_t limit) {
  axis_choices const choices[] = {choices_v<Query, A>...};
  planned_route const routes[] = {operand_problem<Query, K>::route...};
  pair_floors const floors[] = {floors_v<Query, K, Round>...};
  auto const distance = []([[maybe_unused]] int k, [[maybe_unused]] plan_state s) {
    std::int64_t d = 0;
    auto const ask = [&]<int N, int R>(std::integral_constant<int, N>, std::integral_constant<int, R>) {
      if constexpr (is_led<Query, N>)
        if (k == N) d = distances_of<Query, N, R>().settled_to(s);
    };
    (ask(std::integral_constant<int, K>{}, std::integral_constant<int, Round>{}), ...);
    return d;
  };
  auto const steps = []([[maybe_unused]] int k, [[maybe_unused]] plan_state s) {
    int n = 0;
    auto const ask = [&]<int N, int R>(std::integral_constant<int, N>, std::integral_constant<int, R>) {
      if constexpr (is_led<Query, N>)
        if (k == N) n = distances_of<Query, N, R>().steps_to(s);
    };
    (ask(std::integral_constant<int, K>{}, std::integral_constant<int, Round>{}), ...);
    return n;
  };
  auto const after = [](tensor_placement const& result) {
    if constexpr (Query::problem.has_target)
      return path_to_target(Query::problem, result_problem<Query>::route, path_costs_v<Query>, result);
    else
      return path_cost{};
  };
  return cheapest(Query::problem, choices, routes, floors, distance, steps, after, limit);
}

/// The operand whose search has come least far, and how far.
struct search_edge {
  int operand = -1;
  std::int64_t frontier = unreachable_cost;
};
template <class Query, int... K, int... Round>
consteval search_edge least_far(std::integer_sequence<int, K...>, std::integer_sequence<int, Round...>) {
  search_edge out;
  auto const look = [&]<int N, int R>(std::integral_constant<int, N>, std::integral_constant<int, R>) {
    if constexpr (is_led<Query, N>)
      if (auto const f = distances_of<Query, N, R>().frontier(); f < out.frontier) out = {N, f};
  };
  (look(std::integral_constant<int, K>{}, std::integral_constant<int, Round>{}), ...);
  return out;
}

/// One more round for the operand whose search has come least far.
template <class Query, int... K, int... Round>
consteval auto next_rounds(std::integer_sequence<int, K...> operands, std::integer_sequence<int, Round...> rounds) {
  return std::integer_sequence<int, Round + (K == least_far<Query>(operands, rounds).operand)...>{};
}

/// The searches of all operands after so many rounds of each, and the best of what they have settled.
template <class Query, class Rounds, std::int64_t Limit = unreachable_cost>
struct call_search;
template <class Query, int... Round, std::int64_t Limit>
struct call_search<Query, std::integer_sequence<int, Round...>, Limit> {
  using operands = std::make_integer_sequence<int, int(sizeof...(Round))>;
  using all_rounds = std::integer_sequence<int, Round...>;
  static constexpr int rounds[sizeof...(Round)] = {Round...};
  static constexpr std::int64_t frontier = least_far<Query>(operands{}, all_rounds{}).frontier;
  static constexpr operation_plan best =
      cheapest_call<Query>(std::make_integer_sequence<int, Query::mesh_type::rank>{}, operands{}, all_rounds{}, Limit);
  static consteval auto later() {
    return std::type_identity<call_search<Query, decltype(next_rounds<Query>(operands{}, next_rounds<Query>(operands{}, all_rounds{}))), best.cost>>{};
  }
};
/// Advances the operands' searches in rounds until the best combination costs less than every open frontier.
template <class Search>
consteval auto finished_search() {
  if constexpr (Search::frontier >= unreachable_cost || Search::best.cost < Search::frontier)
    return std::type_identity<Search>{};
  else
    return finished_search<typename decltype(Search::later())::type>();
}
template <int... K>
consteval auto no_rounds(std::integer_sequence<int, K...>) {
  return std::integer_sequence<int, K * 0 ...>{};
}
template <class Query>
using search_of = typename decltype(finished_search<call_search<Query, decltype(no_rounds(std::make_integer_sequence<int, Query::problem.inputs>{}))>>())::type;

template <class Query>
inline constexpr operation_plan best_call_v = [] {
  if constexpr (Query::trivial) {
    operation_plan out{0};
    for (int k = 0; k < Query::problem.inputs; ++k) out.operand[k] = Query::problem.given[k].type;
    out.result = Query::problem.as_given().type;
    return out;
  } else {
    return search_of<Query>::best;
  }
}();

/// The path of operand K as a query of its own, for the types of its steps.
template <class Query, int K>
struct operand_path {
  using mesh_type = typename Query::mesh_type;
  using keys = typename Query::keys;
  static constexpr tensor_placement from = Query::problem.given[K].type, to = best_call_v<Query>.operand[K];
  static constexpr planned_route route(bool) { return operand_problem<Query, K>::route; }
  static constexpr step_list value = [] {
    if constexpr (from == to)
      return step_list{};
    else
      return distances_of<Query, K, search_of<Query>::rounds[K]>().path(state_of(operand_problem<Query, K>::route, to));
  }();
};
template <class Query>
struct result_path {
  using mesh_type = typename Query::mesh_type;
  using keys = typename Query::keys;
  static constexpr tensor_placement from = best_call_v<Query>.result, to = Query::problem.has_target ? Query::problem.target : from;
  static constexpr planned_route route(bool avoid_new_even_shards) { return route_between(from, to, Query::setting::value, {false, avoid_new_even_shards, false, {}}); }
  static constexpr step_list value = path_v<result_path, Query::result_bytes>;
};

template <int N>
struct arg_of {
  template <class... Steps>
  using type = Arg<N, Steps...>;
};

/// The plan of Op whose operands go by the paths Before and whose result goes by After.
template <class Op, class Numbers, class After, class... Before>
struct plan_by;
template <class Op, int... K, class After, class... Before>
struct plan_by<Op, std::integer_sequence<int, K...>, After, Before...> {
  using type = Plan<typename typed_steps<Before, Before, arg_of<K>::template type, std::make_integer_sequence<int, Before::value.size>>::type...,
                    Apply<Op>, typename typed_steps<After, After, Result, std::make_integer_sequence<int, After::value.size>>::type>;
};

// The call, whose first argument may be a target.
template <class Op, class... Ts>
struct requested_call {
  using query = call_query<Op, placements<>, std::remove_cvref_t<Ts>...>;
};
template <class Op, class... P, class... Ts>
struct requested_call<Op, To<P...>, Ts...> {
  using query = call_query<Op, placements<P...>, std::remove_cvref_t<Ts>...>;
};
template <class Op, class... Ts>
using requested_op_t = typename requested_call<Op, Ts...>::query;

/// Are there distributed operands, all on one mesh?
template <class... Ts>
inline constexpr bool on_one_mesh = [] {
  using mesh = typename detail::first_mesh<std::remove_cvref_t<Ts>...>::type;
  return !std::is_void_v<mesh> && ((std::is_void_v<typename detail::first_mesh<std::remove_cvref_t<Ts>>::type> ||
                                    std::is_same_v<typename detail::first_mesh<std::remove_cvref_t<Ts>>::type, mesh>)&&...);
}();

/// Is there a plan for Op on these operands, at least one of them distributed, all on one mesh? A target To<...> may stand
/// before them.
template <class Op, class... Ts>
concept Plannable = rule_of<Op>.known && on_one_mesh<Ts...> && best_call_v<requested_op_t<Op, Ts...>>.reachable();

template <step How, int N, class... Steps>
inline constexpr int count_in<How, Arg<N, Steps...>> = count_in<How, Route<Steps...>>;
template <step How, class... Steps>
inline constexpr int count_in<How, Result<Steps...>> = count_in<How, Route<Steps...>>;
template <step How, class... Parts>
inline constexpr int count_in<How, Plan<Parts...>> = (0 + ... + count_in<How, Parts>);
} // namespace sla::plans

namespace sla {
using plans::Plannable;
} // namespace sla
