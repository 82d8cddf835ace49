// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of one tensor carried out: `redistribute<Replicate, Shard<0>>(x)` by the cheapest steps, one axis by its one step.
// Which steps these are is in the types of spmd/plan/, what a step does in dist/step/steps.hpp; plans of calls are in dist/plan/auto_plan.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include <sla/dist/step/flat_steps.hpp>
#include <sla/spmd/placement/named.hpp>
#include <sla/spmd/plan/plan_steps.hpp>
#include <sla/spmd/schedule/outline_steps.hpp>

namespace sla {

namespace detail {

/// Never true; its arguments are what a refusal prints.
template <class... Facts>
inline constexpr bool has_plan = false;

// ---- steps
template <class X>
constexpr X run_steps(type_list<>, X const& x) {
  return x;
}
template <class First, class... Rest, class X>
constexpr auto run_steps(type_list<First, Rest...>, X const& x) {
  using S = typename First::step_type;
  using decided = step_decision<S, stepping_t<X>>;
  if constexpr (!decided::legal) {
    decided::require(); // one error, near the caller
    return x;
  } else {
    return run_steps(type_list<Rest...>{}, perform(S{}, x));
  }
}
template <class Plan>
struct steps_of;
template <class... Steps>
struct steps_of<plans::Route<Steps...>> {
  using type = type_list<Steps...>;
};
template <class... Steps, class X>
constexpr auto run_plan(plans::Route<Steps...>, X const& x) {
  return run_steps(type_list<Steps...>{}, x);
}

// ---- plans by size
template <class X>
index_t global_bytes(X const& x) {
  index_t bytes = index_t(sizeof(typename X::value_type));
  for (int d = 0; d < X::local_type::rank; ++d) bytes *= global_extent(x, d);
  return bytes;
}

/// Do the extents divide into the equal pieces of every state of a path?
template <class Query, int N, class X>
bool divides(X const& x) {
  constexpr auto route = Query::route(false);
  constexpr auto const& path = plans::pieces_v<Query>.path[N];
  for (int k = 0; k < path.size; ++k) {
    auto const u = plans::unpack(path.steps[k].after, route.problem.axes);
    for (int d = 0; d < route.problem.dims; ++d) {
      index_t ranks = 1, pieces = 1; // of all axes up to the last one of equal pieces
      for (int i = 0; i < u.length[d]; ++i) {
        int const a = u.list[d][i];
        ranks *= x.mesh().size(a);
        if (route.problem.even[u.family[a]]) pieces = ranks;
      }
      if (global_extent(x, d) % pieces != 0) return false;
    }
  }
  return true;
}

/// Tensors of the same numbers whose types differ in which extents are static.
template <class A, class B>
struct common_local;
template <class T, index_t... E, index_t... G, class Memory>
struct common_local<tensor<T, Extents<E...>, Memory>, tensor<T, Extents<G...>, Memory>> {
  using type = tensor<T, Extents<(E == G ? E : index_t(dyn))...>, Memory>;
};
template <class A, class B>
struct common_value;
template <class A>
struct common_value<A, A> {
  using type = A;
};
template <class L, class K, class Mesh, class... P>
  requires(!std::same_as<L, K>)
struct common_value<distributed<L, Mesh, P...>, distributed<K, Mesh, P...>> {
  using type = distributed<typename common_local<L, K>::type, Mesh, P...>;
};
template <class A, class... Rest>
struct common_result {
  using type = A;
};
template <class A, class B, class... Rest>
struct common_result<A, B, Rest...> : common_result<typename common_value<A, B>::type, Rest...> {};

template <class Out, class X>
Out as_common(X x) {
  if constexpr (std::same_as<Out, X>) {
    return x;
  } else {
    typename Out::local_type local(Out::local_type::extents_type::from(x.local().extents()), uninitialized);
    std::copy_n(x.local().data(), local.size(), local.data());
    return Out(std::move(local), x.handle());
  }
}

/// The value of the n-th call, where the calls' types differ in static extents alone.
template <class... Call>
auto chosen_result(int n, Call const&... call) {
  using Out = typename common_result<decltype(call())...>::type;
  std::optional<Out> out;
  int k = 0;
  ((k++ == n ? void(out.emplace(as_common<Out>(call()))) : void()), ...);
  return std::move(*out);
}

/// The pieces of an envelope, and its plan for extents that do not divide.
template <class List, class... Pieces>
struct split_envelope {
  using pieces = List;
  using fallback = void;
};
template <class... Done, std::int64_t Bytes, class Plan, class... Rest>
struct split_envelope<type_list<Done...>, plans::Piece<Bytes, Plan>, Rest...> : split_envelope<type_list<Done..., plans::Piece<Bytes, Plan>>, Rest...> {};
template <class... Done, class Plan>
struct split_envelope<type_list<Done...>, plans::Indivisible<Plan>> {
  using pieces = type_list<Done...>;
  using fallback = Plan;
};

template <class Query, class Fallback, std::int64_t... Bytes, class... Plans, class X, int... N>
auto run_by_size(type_list<plans::Piece<Bytes, Plans>...>, X const& x, std::integer_sequence<int, N...>) {
  using Last = typename type_at<int(sizeof...(N)) - 1, type_list<Plans...>>::type;
  using Other = std::conditional_t<std::is_void_v<Fallback>, Last, Fallback>;
  auto const& value = value_under(x);
  index_t const bytes = global_bytes(value);
  int chosen = 0;
  ((chosen = bytes >= Bytes ? N : chosen), ...);
  if constexpr (!std::is_void_v<Fallback>) {
    bool const fits = ((N != chosen || divides<Query, N>(value)) && ...);
    if (!fits) chosen = int(sizeof...(N));
  }
  return chosen_result(chosen, [&] { return run_plan(Plans{}, x); }..., [&] { return run_plan(Other{}, x); });
}

template <class Query, class X, class... Steps>
constexpr auto run_found(plans::Route<Steps...> plan, X const& x) {
  return run_plan(plan, x);
}
template <class Query, Outlined X, class... Pieces>
constexpr X run_found(plans::Envelope<Pieces...>, X const& x) {
  static_assert(has_plan<X, plans::Envelope<Pieces...>>,
                "sla: the plan of this redistribution depends on sizes that the types leave open, and so does the schedule: give static extents");
  return x;
}
template <class Query, class X, class... Pieces>
auto run_found(plans::Envelope<Pieces...>, X const& x) {
  using split = split_envelope<type_list<>, Pieces...>;
  return run_by_size<Query, typename split::fallback>(typename split::pieces{}, x, std::make_integer_sequence<int, plans::pieces_v<Query>.size>{});
}

/// The first axis along which the wanted equal pieces do not divide the extents that the types state, and how many pieces
/// it makes with the axes before it; -1 if there is none.
struct uneven_pieces {
  int axis = -1, pieces = 0;
};
template <class Query>
constexpr uneven_pieces uneven_pieces_of() {
  constexpr auto const& m = Query::setting::value;
  int pieces[max_dims] = {};
  for (int a = 0; a < Query::to.axes; ++a) {
    auto const p = Query::to.on[a];
    if (p.kind != placement_kind::shard || !m.even[p.family] || p.dim >= max_dims || Query::mesh_type::static_size(a) == dyn) continue;
    auto& n = pieces[p.dim];
    n = (n ? n : 1) * m.size[a];
    if (Query::whole.extent[p.dim] % n != 0) return {a, n};
  }
  return {};
}

template <class List, bool Insisted, class X>
constexpr auto redistributed(X const& x) {
  using Value = stepping_t<X>;
  if constexpr (requires { eval(x); } && !std::same_as<X, Value> && !requires { typename X::plain_type; }) {
    return redistributed<List, Insisted>(eval(x));
  } else {
    using planned = plans::redistribution<Value, List, Insisted>;
    constexpr auto uneven = uneven_pieces_of<typename planned::query>();
    if constexpr (!planned::possible && uneven.axis >= 0) {
      using To = typename placement_number<uneven.axis, List>::type;
      using Facts = type_list<operand_is<0, placements_of_t<Value>>, To, on_axis<mesh_of_t<Value>::template name_string<uneven.axis>()>,
                              indices_for_ranks<planned::query::whole.extent[To::dim], uneven.pieces>>;
      refuse<code::indivisible, Facts>();
      return x;
    } else if constexpr (!planned::possible && topology_of<mesh_of_t<Value>>.bitwise_replicated) {
      static_assert(has_plan<placements_of_t<Value>, List>,
                    "sla[E16]: no steps that leave equal bits on all ranks, as this mesh asks (topology::bitwise_replicated), lead from the placements of "
                    "the value to these: a Sum and an Avg on two axes are completed in parts that a reduce_scatter<axis, Shard<d, Balanced>>(x) shards");
      return x;
    } else if constexpr (!planned::possible) {
      static_assert(has_plan<placements_of_t<Value>, List>,
                    "sla[E16]: no steps lead from the placements of the value to these: a Partial is made of what is whole on every rank only, "
                    "an Invariant of a Replicate by the tag sla::expert, a Part by its layout (repartition), and Varying and halos stay as they are");
      return x;
    } else {
      return run_found<typename planned::query>(typename planned::type{}, x);
    }
  }
}

/// What is said of the axes; Replicate is meant of those that nothing mentions.
template <class X, class... What>
struct wanted_placements {
  using mesh = mesh_of_t<X>;
  static constexpr int rank = local_dims<local_of_t<X>>::rank;
  static consteval auto list() {
    if constexpr (!specifies<mesh, rank, What...> && specifies<mesh, rank, What..., Replicate>)
      return placements_on_t<mesh, rank, What..., Replicate>{};
    else
      return placements_on_t<mesh, rank, What...>{};
  }
  using type = decltype(list());
};

} // namespace detail

/// What may be redistributed: values, traced ones, and outlines, whose schedules have the steps.
template <class X>
concept Redistributing = Stepping<X> || Outlined<X>;
/// The same value in these placements, one for each axis of the mesh, by the cheapest steps: `route_to<X, P...>` is their type and
/// `explain_route<X, P...>()` their words. Where sizes decide, the size of the whole tensor does, on all ranks alike.
/// Gradient: the duals of the steps in reverse order. Cost: that of the plan, spmd/plan/cost.hpp.
/// Errors: shape_error, if a family cannot shard a dimension.
template <Placement... P, Redistributing X>
  requires(sizeof...(P) > 0)
constexpr auto redistribute(X const& x) {
  static_assert(sizeof...(P) == mesh_of_t<detail::stepping_t<X>>::rank, "sla: redistribute<P...>(x) has one placement for each axis of the mesh, in its order");
  return detail::redistributed<placements<P...>, false>(x);
}
template <Placement... P, Redistributing X>
  requires(sizeof...(P) > 0)
constexpr auto redistribute(X const& x, expert_t) {
  static_assert(sizeof...(P) == mesh_of_t<detail::stepping_t<X>>::rank, "sla: redistribute<P...>(x) has one placement for each axis of the mesh, in its order");
  return detail::redistributed<placements<P...>, true>(x);
}

/// The same for placements that are said in another way: `redistribute<spec<"tp", unsharded>>(x)` shards rows along tp; the axes that
/// nothing is said of become Replicate.
template <class Said, class... More, Redistributing X>
  requires(!Placement<Said>)
constexpr auto redistribute(X const& x) {
  return detail::redistributed<typename detail::wanted_placements<detail::stepping_t<X>, Said, More...>::type, false>(x);
}

/// The steps of a stated plan, whatever the planner finds: `redistribute_by<plans::Route<plans::AllReduce<Partial<>, Replicate, "tp">>>(x)`.
/// Law: each step is legal where it is taken; else its collective says why not.
template <class Steps, Redistributing X>
  requires requires { Steps::size; }
constexpr auto redistribute_by(X const& x) {
  return detail::run_steps(typename detail::steps_of<Steps>::type{}, x); // no call more than needed: refusals print them
}

/// The same value in another placement on one axis, by the one step that leads there: all_gather, all_reduce, reduce_scatter,
/// all_to_all, repartition or convert. Law: Replicate and Invariant become neither Invariant nor Partial without the tag, all but
/// Replicate to Partial; a dimension that several axes shard is changed from its innermost axis on.
template <fixed_string Axis, Placement To, Redistributing X>
constexpr auto redistribute(X const& x) {
  using From = placement_along_t<detail::stepping_t<X>, Axis>;
  constexpr auto from = From::kind, to = To::kind;
  constexpr bool gated = (from == placement_kind::replicate && to == placement_kind::invariant) ||
                         (from == placement_kind::invariant && to == placement_kind::partial);
  return perform(step_along<route_v<From, To>, Axis, To, !gated>{}, x);
}
template <fixed_string Axis, Placement To, Redistributing X>
constexpr auto redistribute(X const& x, expert_t) {
  using From = placement_along_t<detail::stepping_t<X>, Axis>;
  return perform(step_along<route_v<From, To>, Axis, To, true>{}, x);
}

} // namespace sla
