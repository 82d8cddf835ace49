// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of one tensor at compile time: the query that two types pose, the steps at a size, and which steps are cheapest
// from which size on. Plans as types are in spmd/plan/plan_steps.hpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/plan/route.hpp>
#include <sla/spmd/rule/well_typed.hpp>

namespace sla::plans {

/// Is there an extent that the family cannot shard? Small ones tell.
template <class F>
inline constexpr bool rejects_an_extent = [] {
  bool refuses = false;
  if constexpr (StatedFamily<F>)
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (int extent = 0; extent <= 12; ++extent) refuses = refuses || !F::accepts(extent, ranks);
  return refuses;
}();

template <class Mesh, class Keys>
struct setting_of;
template <class Mesh, class... Key>
struct setting_of<Mesh, detail::type_list<Key...>> {
  static constexpr bool open = [] { // an axis whose size only the program's start tells
    bool any = false;
    for (int a = 0; a < Mesh::rank; ++a) any = any || Mesh::static_size(a) == dyn;
    return any;
  }();
  static constexpr plan_setting value = [] {
    static_assert(sizeof...(Key) <= max_plan_keys, "sla: a plan over so many families and patterns; gather some operands first");
    plan_setting m;
    m.axes = static_cast<std::int8_t>(Mesh::rank);
    for (int a = 0; a < Mesh::rank; ++a) m.size[a] = Mesh::static_size(a) == dyn ? 2 : Mesh::static_size(a);
    m.wired = topology_of<Mesh>;
    m.families = static_cast<std::int8_t>(sizeof...(Key));
    m.plain = detail::index_in<Even>(detail::type_list<Key...>{});
    if (m.plain == m.families) m.plain = -1;
    int n = 0;
    ((m.even[n] = std::is_same_v<Key, Even>, m.rejects_some_extents[n] = !m.even[n] && rejects_an_extent<Key>, m.stated[n++] = family_facts_of<Key>.stated), ...);
    return m;
  }();
};

/// Extents and bytes of the whole tensor, where types tell them; 0 where not.
struct global_size {
  fixed_array<std::int64_t, max_dims> extent{};
  std::int64_t bytes = 0;
};
template <class Local>
consteval global_size global_size_of(tensor_placement const& t, plan_setting const& m) {
  global_size w;
  if constexpr (requires { typename Local::extents_type; } && !requires { typename Local::shape_type; }) {
    using E = typename Local::extents_type;
    w.bytes = static_cast<std::int64_t>(sizeof(typename Local::value_type));
    for (int d = 0; d < E::rank; ++d) {
      w.extent[d] = E::static_extent(d) == dyn ? 0 : E::static_extent(d);
      for (int a = 0; a < t.axes; ++a)
        if (is_sharded(t.on[a].kind) && t.on[a].dim == d) w.extent[d] *= m.even[t.on[a].family] ? m.size[a] : 0;
      w.bytes *= w.extent[d];
    }
  } else if constexpr (requires { sizeof(Local); } && detail::PlainNumber<Local>) {
    w.bytes = static_cast<std::int64_t>(sizeof(Local));
  }
  return w;
}

/// What is asked when an X is to have the placements of a list.
template <class X, class To, bool Insisted>
struct route_query;
template <class X, class... Q, bool Insisted>
struct route_query<X, placements<Q...>, Insisted> {
  using mesh_type = mesh_of_t<X>;
  using keys = typename detail::joined_keys<placements<Shard<0>>, placements_of_t<X>, placements<Q...>>::type;
  using setting = setting_of<mesh_type, keys>;
  static constexpr tensor_placement from = operand_traits<X>::template value<keys>.type;
  static constexpr tensor_placement to = [] {
    tensor_placement t = from;
    int a = 0;
    ((t.on[a++] = detail::to_value<Q, keys>()), ...);
    return t;
  }();
  static constexpr global_size whole = global_size_of<local_of_t<X>>(from, setting::value);
  static constexpr bool by_class = setting::open;
  static constexpr planned_route route(bool avoid_new_even_shards) {
    return route_between(from, to, setting::value, {Insisted, avoid_new_even_shards, false, by_class ? fixed_array<std::int64_t, max_dims>{} : whole.extent});
  }
};

template <class Query, std::int64_t Bytes, bool Careful>
struct sized_route {
  static constexpr planned_route route = Query::route(Careful);
  static constexpr plan_state goal = route.to;
  static constexpr route_problem value = [] {
    auto g = route.problem;
    g.bytes = priced_bytes(Bytes, g.wired);
    return g;
  }();
  static constexpr search_aim aim{true, goal};
};

/// The cheapest steps at a size; size 0: by the kinds of the steps.
template <class Query, std::int64_t Bytes, bool Careful = false>
inline constexpr step_list path_v = [] {
  using sized = sized_route<Query, Bytes, Careful>;
  step_list none;
  none.cost = unreachable_cost;
  if constexpr (!sized::route.possible)
    return none;
  else
    return search_v<sized, sized::route.from>.path(sized::goal);
}();

template <class Query, std::int64_t Bytes>
inline constexpr linear_cost line_v = line_of(sized_route<Query, Bytes, false>::value, path_v<Query, Bytes>);

/// Appends the pieces that begin after Low, where the best plan at both ends is known. The envelope of lines is concave:
/// what is best at both ends of an interval is best in it (between the real crossing and the next whole byte, to within the
/// cost of one byte).
template <class Query, std::int64_t Low, std::int64_t High>
constexpr void divide(plan_pieces& out) {
  constexpr auto a = line_v<Query, Low>, b = line_v<Query, High>;
  if constexpr (a.per_byte > b.per_byte) {
    constexpr auto x = crossing(a, b);
    if constexpr (x > Low && x <= High) {
      if constexpr (line_v<Query, x>.at(x) < b.at(x)) {
        divide<Query, Low, x>(out);
        divide<Query, x, High>(out);
      } else {
        out.add(x, path_v<Query, High>);
      }
    }
  }
}

/// All plans that some size wants, each with the size from which on it is cheapest.
template <class Query>
inline constexpr plan_pieces pieces_v = [] {
  plan_pieces out;
  if constexpr (Query::by_class) {
    out.add(0, path_v<Query, 0>);
  } else if constexpr (Query::whole.bytes > 0) {
    out.add(0, path_v<Query, Query::whole.bytes>);
  } else {
    out.add(0, path_v<Query, 1>);
    if constexpr (path_v<Query, 1>.reachable()) divide<Query, 1, priced_bytes(largest_priced, Query::route(false).problem.wired)>(out);
  }
  return out;
}();

/// The plan for extents that the pieces of another plan do not divide.
template <class Query>
inline constexpr step_list without_new_even_shards_v = path_v<Query, (Query::by_class ? 0 : Query::whole.bytes ? Query::whole.bytes : 65536), true>;

} // namespace sla::plans
