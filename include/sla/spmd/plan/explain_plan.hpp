// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans in words, as constants: a line for each step with the placements after it, its cost, and what its gradient costs.
// Plans as types are in spmd/plan/plan_steps.hpp, spmd/plan/call.hpp and spmd/plan/plan_set.hpp.
#pragma once
#include <utility>

#include <sla/spmd/placement/spelling.hpp>
#include <sla/spmd/plan/plan_set.hpp>
#include <sla/spmd/refusal/words.hpp>

namespace sla::plans {

using plan_text = fixed_text<8000>;

/// The name of a step as that of its type: AllGather of all_gather.
template <class = void>
constexpr void write_name(plan_text& out, step how) {
  auto const name = name_of(how);
  for (std::size_t n = 0; n < name.size(); ++n)
    if (char const c[] = {static_cast<char>(n == 0 || name[n - 1] == '_' ? name[n] - 'a' + 'A' : name[n])}; name[n] != '_') out << std::string_view(c, 1);
}

template <class Mesh>
constexpr void write_axes(plan_text& out, step_axes const& order) {
  out << "<";
  for (int n = 0; n < order.size; ++n) out << (n ? ", \"" : "\"") << Mesh::name(order.axis[n]) << "\"";
  out << ">";
}

/// The placements after the first K steps of a path.
template <class Query, class Path, int K, class Numbers>
struct list_after;
template <class Query, class Path, int K, int... A>
struct list_after<Query, Path, K, std::integer_sequence<int, A...>> {
  static constexpr tensor_placement at =
      tensor_placement_of(Query::route(false), K ? Path::value.steps[K ? K - 1 : 0].after : Path::value.source, Query::from);
  using type = placements<placement_at<at.on[A], typename Query::keys>...>;
};

template <class Query, class Path, int K>
constexpr void write_state(plan_text& out) {
  using mesh = typename Query::mesh_type;
  using list = typename list_after<Query, Path, K, std::make_integer_sequence<int, mesh::rank>>::type;
  detail::write_placements(out, list{}, std::type_identity<mesh>{});
}

template <class Query, class Path, int K>
constexpr void write_step(plan_text& out, bool priced) {
  using mesh = typename Query::mesh_type;
  using step = typed_step<Query, Path, K>;
  out << "  ";
  write_name(out, step::step.how);
  write_axes<mesh>(out, step::order);
  out << " to ";
  write_state<Query, Path, K + 1>(out);
  if (priced) {
    step_list one;
    one.source = step::before;
    one.size = 1;
    one.steps[0] = step::step;
    auto const cost = line_of(step::route.problem, one);
    out << ", " << static_cast<int>(cost.fixed / 1000) << " ns + " << static_cast<int>(cost.per_byte * 1000 >> 16) << " fs/B";
  }
  out << ", backward ";
  write_name(out, step::back);
  write_axes<mesh>(out, step::back_order);
  out << "\n";
}

template <class Query, class Path, int... K>
constexpr void write_steps(plan_text& out, [[maybe_unused]] bool priced, std::integer_sequence<int, K...>) {
  (write_step<Query, Path, K>(out, priced), ...);
}
template <class Query, class Path>
constexpr void write_path(plan_text& out, bool priced) {
  write_steps<Query, Path>(out, priced, std::make_integer_sequence<int, Path::value.size>{});
}

template <class Query, int N>
constexpr void write_piece(plan_text& out) {
  constexpr auto const& pieces = pieces_v<Query>;
  if (pieces.size > 1) out << (N ? "from " : "below ") << static_cast<int>(pieces.from[N ? N : 1]) << " bytes:\n";
  write_path<Query, piece_path<Query, N>>(out, !Query::by_class);
}

template <class Query, int... N>
consteval plan_text explained_route(std::integer_sequence<int, N...>) {
  plan_text out;
  write_state<Query, piece_path<Query, 0>, 0>(out);
  out << "\n";
  (write_piece<Query, N>(out), ...);
  if constexpr (envelope_of<Query, std::integer_sequence<int, N...>>::may_not_divide) {
    out << "where extents do not divide:\n";
    write_path<Query, careful_path<Query>>(out, !Query::by_class);
  }
  return out;
}

template <class Path, int K>
constexpr void write_operand(plan_text& out, bool stays, bool priced) {
  out << "operand " << K << " ";
  if (stays) {
    out << "stays\n";
  } else if constexpr (Path::value.size == 0) {
    out << "as it is\n";
  } else {
    write_state<Path, Path, 0>(out);
    out << "\n";
    write_path<Path, Path>(out, priced);
  }
}

/// The plan of one call by its paths: of each operand, and of the result.
template <class Op, class Query, class After, class... Before, int... K>
constexpr void write_call(plan_text& out, std::integer_sequence<int, K...>) {
  using mesh = typename Query::mesh_type;
  constexpr bool priced = !Query::setting::open;
  (write_operand<Before, K>(out, Query::problem.stays[K], priced), ...);
  out << detail::short_name<Op>() << " ";
  []<int... A>(plan_text& text, std::integer_sequence<int, A...>) {
    detail::write_placements(text, placements<placement_at<After::from.on[A], typename Query::keys>...>{}, std::type_identity<mesh>{});
  }(out, std::make_integer_sequence<int, mesh::rank>{});
  out << "\n";
  write_path<After, After>(out, priced);
}

template <class Op, class Query, class Member, int... K>
constexpr void write_member(plan_text& out, std::integer_sequence<int, K...> operands) {
  write_call<Op, Query, typename Member::after, typename Member::template before<K>...>(out, operands);
}

/// The plans of a set, each below its cost.
template <class Op, class Query, int... K, int... N>
constexpr void write_plan_set(plan_text& out, std::integer_sequence<int, K...> operands, std::integer_sequence<int, N...> members) {
  auto const write_cost = [&](cost_plane const& cost) {
    out << static_cast<int>(cost.fixed / 1000) << " ns";
    for (int k = 0; k <= Query::problem.inputs; ++k) {
      if (cost.per_byte[k] == 0) continue;
      out << " + " << static_cast<int>(cost.per_byte[k] * 1000 >> 16) << " fs/B of ";
      if (k < Query::problem.inputs)
        out << "operand " << k;
      else
        out << "the result";
    }
    out << ":\n";
  };
  ((write_cost(set_member<Query, N>::call.cost), write_member<Op, Query, set_member<Query, N>>(out, operands)), ...);
  if constexpr (set_type<Op, Query, decltype(operands), decltype(members)>::has_fallback) {
    out << "where extents do not divide:\n";
    write_member<Op, Query, undivided_member<Query>>(out, operands);
  }
}

template <class Op, class Query, int... K>
consteval plan_text explained_call(std::integer_sequence<int, K...> operands) {
  plan_text out;
  if constexpr (!has_plan_set<Query>)
    write_call<Op, Query, result_path<Query>, operand_path<Query, K>...>(out, operands);
  else if constexpr (is_one_plan<Op, Query>)
    write_member<Op, Query, set_member<Query, 0>>(out, operands);
  else
    write_plan_set<Op, Query>(out, operands, std::make_integer_sequence<int, plan_set_v<Query>.size>{});
  return out;
}

template <class Query>
inline constexpr plan_text route_words = explained_route<Query>(std::make_integer_sequence<int, pieces_v<Query>.size>{});
template <class Op, class Query>
inline constexpr plan_text plan_words = explained_call<Op, Query>(std::make_integer_sequence<int, Query::problem.inputs>{});

/// The plan of `redistribute<To...>(x)` for an x of type X in words.
template <Distributed X, Placement... To>
consteval std::string_view explain_route() {
  return route_words<route_query<std::remove_cvref_t<X>, placements<To...>, false>>.view();
}

/// The plan of `auto_plan<Op>(x, ...)` in words; with a target, `explain_plan<Op, To<...>, X...>()`, that of `auto_plan<Op, To<...>>`.
template <class Op, class... Ts>
consteval std::string_view explain_plan() {
  return plan_words<Op, requested_op_t<Op, Ts...>>.view();
}

} // namespace sla::plans

namespace sla {
using plans::explain_plan;
using plans::explain_route;
} // namespace sla
