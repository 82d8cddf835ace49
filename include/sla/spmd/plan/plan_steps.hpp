// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans as types: what compilers print, what programs assert, and what dist/ carries out, word for word.
// They are found by spmd/plan/envelope.hpp and spmd/plan/operation.hpp.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/spmd/plan/envelope.hpp>
#include <sla/spmd/step/named_steps.hpp>

namespace sla::plans {

/// One step of a plan: From becomes To on these axes. Several axes act as one, the first outermost.
template <step How, Placement From, Placement To, fixed_string... Axes>
struct plan_step_type {
  static constexpr step how = How;
  using from = From;
  using to = To;
  static constexpr int axes = static_cast<int>(sizeof...(Axes));
  /// The step that is taken.
  using step_type = std::conditional_t<How == step::permute_shards, order_of_shards<Axes...>,
                                       step_on<How, flat<Axes...>, To, How == step::convert>>;
};

/// The shards of a dimension are gathered on every rank.
template <Placement From, Placement To, fixed_string... Axes>
struct AllGather : plan_step_type<step::all_gather, From, To, Axes...> {};
/// Shards of one dimension become shards of another.
template <Placement From, Placement To, fixed_string... Axes>
struct AllToAll : plan_step_type<step::all_to_all, From, To, Axes...> {};
/// A Partial value is folded, and each rank keeps its shard.
template <Placement From, Placement To, fixed_string... Axes>
struct ReduceScatter : plan_step_type<step::reduce_scatter, From, To, Axes...> {};
/// A Partial value is reduced on every rank.
template <Placement From, Placement To, fixed_string... Axes>
struct AllReduce : plan_step_type<step::all_reduce, From, To, Axes...> {};
/// The axes that change their places, in their new order.
template <Placement From, Placement To, fixed_string... Axes>
struct PermuteShards : plan_step_type<step::permute_shards, From, To, Axes...> {};
/// Shards become shards of another family.
template <Placement From, Placement To, fixed_string... Axes>
struct Repartition : plan_step_type<step::repartition, From, To, Axes...> {};
/// A step without communication.
template <Placement From, Placement To, fixed_string... Axes>
struct Convert : plan_step_type<step::convert, From, To, Axes...> {};

/// Steps in order.
template <class... Steps>
struct Route {
  static constexpr int size = static_cast<int>(sizeof...(Steps));
};

/// A plan that is cheapest from this many bytes of the whole tensor on.
template <std::int64_t Bytes, class Plan>
struct Piece {
  static constexpr std::int64_t bytes = Bytes;
  using plan = Plan;
};
/// The plan for extents that do not divide into the equal pieces of the others; chosen on all ranks alike.
template <class Plan>
struct Indivisible {
  using plan = Plan;
};
/// Plans by size: the last piece that begins at or below the size of the whole tensor, which all ranks know.
template <class... Pieces>
struct Envelope {
  static constexpr int size = static_cast<int>(sizeof...(Pieces));
};

template <step How, class From, class To, fixed_string... Axes>
consteval auto step_type_for() {
  if constexpr (How == step::all_gather)
    return AllGather<From, To, Axes...>{};
  else if constexpr (How == step::all_to_all)
    return AllToAll<From, To, Axes...>{};
  else if constexpr (How == step::reduce_scatter)
    return ReduceScatter<From, To, Axes...>{};
  else if constexpr (How == step::all_reduce)
    return AllReduce<From, To, Axes...>{};
  else if constexpr (How == step::permute_shards)
    return PermuteShards<From, To, Axes...>{};
  else if constexpr (How == step::repartition)
    return Repartition<From, To, Axes...>{};
  else
    return Convert<From, To, Axes...>{};
}

/// The axes of a step, the outermost first.
struct step_axes {
  int size = 0;
  fixed_array<int, max_mesh_axes> axis{};
};
template <class = void>
constexpr step_axes axes_in_step(plan_state before, plan_step const& s, int axes) {
  step_axes out;
  // Where they stand in the list that they leave, or that they come to.
  bool const leaves = s.how == step::all_gather || s.how == step::all_to_all || s.how == step::repartition;
  plan_state const at = leaves ? before : s.after; // a permutation: the new order
  for (unsigned place = 0; place < max_mesh_axes; ++place)
    for (int a = 0; a < axes; ++a) {
      unsigned const field = static_cast<unsigned>(at >> (10 * a) & 1023);
      unsigned const mine = (field & 3) == plan_shard ? field >> 5 & 7 : 0;
      if ((s.axes >> a & 1) && mine == place) out.axis[out.size++] = a;
    }
  return out;
}

/// The placement of an axis in a state; of several axes as one, without their places.
template <class = void>
constexpr placement_value placement_in(planned_route const& r, plan_state s, step_axes const& axes, tensor_placement const& like) {
  auto p = tensor_placement_of(r, s, like).on[axes.axis[0]];
  if (axes.size > 1) p.level = 0;
  return p;
}

// Query has mesh_type, keys, `from` and `route(careful)`; Path has `value`, the steps.
template <class Query, class Path, int K>
struct typed_step {
  static constexpr planned_route route = Query::route(false);
  static constexpr plan_state before = K ? Path::value.steps[K ? K - 1 : 0].after : Path::value.source;
  static constexpr plan_step step = Path::value.steps[K];
  static constexpr step_axes order = axes_in_step(before, step, route.problem.axes);
  static constexpr placement_value from = placement_in(route, before, order, Query::from);
  static constexpr placement_value to = placement_in(route, step.after, order, Query::from);
  template <int... N>
  static consteval auto make(std::integer_sequence<int, N...>) {
    using mesh = typename Query::mesh_type;
    return step_type_for<step.how, placement_at<from, typename Query::keys>, placement_at<to, typename Query::keys>,
                         mesh::template name_string<order.axis[N]>()...>();
  }
  using type = decltype(make(std::make_integer_sequence<int, order.size>{}));

  /// What carries a gradient back: from the dual of `to` to the dual of `from`, on the axes in the order that they had.
  static constexpr sla::step back = step.how == sla::step::permute_shards ? step.how : adjoint_of(transition{step.how, from, to}).how;
  static constexpr step_axes back_order =
      step.how == sla::step::permute_shards ? axes_in_step(before, {sla::step::all_gather, step.axes, before}, route.problem.axes) : order;
  template <int... N>
  static consteval auto make_back(std::integer_sequence<int, N...>) {
    using mesh = typename Query::mesh_type;
    return step_type_for<back, placement_at<sla::dual(to), typename Query::keys>, placement_at<sla::dual(from), typename Query::keys>,
                         mesh::template name_string<back_order.axis[N]>()...>();
  }
  using adjoint = decltype(make_back(std::make_integer_sequence<int, order.size>{}));
};

template <class Query, class Path, template <class...> class Into, class Numbers>
struct typed_steps;
template <class Query, class Path, template <class...> class Into, int... K>
struct typed_steps<Query, Path, Into, std::integer_sequence<int, K...>> {
  using type = Into<typename typed_step<Query, Path, K>::type...>;
};
template <class Query, class Path, class Numbers>
struct adjoint_steps;
template <class Query, class Path, int... K>
struct adjoint_steps<Query, Path, std::integer_sequence<int, K...>> {
  using type = Route<typename typed_step<Query, Path, Path::value.size - 1 - K>::adjoint...>;
};

template <class Query, class Path>
using route_type = typename typed_steps<Query, Path, Route, std::make_integer_sequence<int, Path::value.size>>::type;

template <class Query, int N>
struct piece_path {
  static constexpr step_list const& value = pieces_v<Query>.path[N];
};
template <class Query>
struct careful_path {
  static constexpr step_list const& value = without_new_even_shards_v<Query>;
};

template <class Query, class Pieces>
struct envelope_of;
template <class Query, int... N>
struct envelope_of<Query, std::integer_sequence<int, N...>> {
  static constexpr bool may_not_divide = (needs_division(Query::route(false), pieces_v<Query>.path[N]) || ...) && Query::whole.bytes == 0;
  template <bool Fallback>
  static consteval auto make() {
    if constexpr (Fallback)
      return Envelope<Piece<pieces_v<Query>.from[N], route_type<Query, piece_path<Query, N>>>...,
                      Indivisible<route_type<Query, careful_path<Query>>>>{};
    else
      return Envelope<Piece<pieces_v<Query>.from[N], route_type<Query, piece_path<Query, N>>>...>{};
  }
  using type = decltype(make<may_not_divide>());
};

template <class Envelope>
struct simplified { // one plan for all sizes is that plan
  using type = Envelope;
};
template <std::int64_t Bytes, class Plan>
struct simplified<Envelope<Piece<Bytes, Plan>>> {
  using type = Plan;
};

template <class Query, int N>
using adjoint_route = typename adjoint_steps<Query, piece_path<Query, N>, std::make_integer_sequence<int, pieces_v<Query>.path[N].size>>::type;

template <class X, class To, bool Insisted>
struct redistribution {
  using query = route_query<std::remove_cvref_t<X>, To, Insisted>;
  static constexpr bool possible = pieces_v<query>.path[0].reachable();
  using type = typename simplified<typename envelope_of<query, std::make_integer_sequence<int, pieces_v<query>.size>>::type>::type;
};

/// The plan that `redistribute<To...>(x)` carries out for an x of type X: a Route, or an Envelope of them by size.
template <Distributed X, Placement... To>
using route_to = typename redistribution<X, placements<To...>, false>::type;

/// Is there a path from the placements of X to these?
template <class X, class... To>
concept Redistributable = Distributed<X> && sizeof...(To) == mesh_of_t<X>::rank && (Placement<To> && ...) &&
                          redistribution<X, placements<To...>, false>::possible;

template <step How, class Plan>
inline constexpr int count_in = 0;
template <step How, class... Steps>
inline constexpr int count_in<How, Route<Steps...>> = (0 + ... + (Steps::how == How ? 1 : 0));
template <step How, std::int64_t Bytes, class Plan>
inline constexpr int count_in<How, Piece<Bytes, Plan>> = count_in<How, Plan>;
template <step How, class Plan>
inline constexpr int count_in<How, Indivisible<Plan>> = count_in<How, Plan>;
template <step How, class... Pieces>
inline constexpr int count_in<How, Envelope<Pieces...>> = [] { // of the piece that has the most
  int most = 0;
  ((most = count_in<How, Pieces> > most ? count_in<How, Pieces> : most), ...);
  return most;
}();
/// How many steps of a kind a plan has; of plans by size, the most that any has:
/// `static_assert(count_steps<step::all_reduce, route_to<X, Replicate, Replicate>> == 0)`.
template <step How, class Plan>
consteval int count_steps() {
  return count_in<How, Plan>;
}

} // namespace sla::plans

namespace sla {
using plans::Redistributable;
using plans::route_to;
using plans::count_steps;
} // namespace sla
