// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that redistribute their operands as they must: `auto_plan<op::add>(a, b)`, by the plan that `plan_of<op::add, A, B>` is.
// The search is in spmd/plan/operation.hpp, the steps in dist/plan/redistribute.hpp.
#pragma once

#include <type_traits>

#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/plan/choose_plan.hpp>
#include <sla/spmd/plan/explain_plan.hpp>

namespace sla::plans {

/// The plan that a call is expected to have: `auto_plan<op::add, plans::Expect<plans::Plan<...>>>(a, b)` is refused where it has another.
template <class Golden>
struct Expect {};
/// The plan that a call takes, whatever the planner finds: `auto_plan<op::add, plans::Prefer<plans::Plan<...>>>(a, b)`.
template <class Plan>
struct Prefer {};

} // namespace sla::plans

namespace sla {

/// How an operation is called. An own one is called by `custom<Op>` (sla/dist/grad/custom.hpp).
template <class Op>
struct planned_call {
  static constexpr auto run(auto const&... x) {
    if constexpr (requires { perform(operation<Op>{}, x...); })
      return perform(operation<Op>{}, x...);
    else if constexpr (requires { perform(Op{}, x...); })
      return perform(Op{}, x...);
    else
      return custom<Op>(x...);
  }
};
template <>
struct planned_call<op::sum> {
  static constexpr auto run(auto const& a) { return sum(a); }
};
template <>
struct planned_call<op::dot> {
  static constexpr auto run(auto const& a, auto const& b) { return dot(a, b); }
};
template <>
struct planned_call<op::matvec> {
  static constexpr auto run(auto const& a, auto const& b) { return a * b; }
};

namespace detail {

template <class Planned, class Expected>
inline constexpr bool plan_is_expected = std::is_same_v<Planned, Expected>;

/// The value of an expression; what is no expression stays.
template <class X>
constexpr auto settled(X const& x) {
  if constexpr (Redistributing<X> && !requires { typename X::plain_type; })
    return eval(x);
  else
    return x;
}
/// What the rules see of an operand.
template <class X>
struct planned_operand {
  using type = X;
};
template <Stepping X>
struct planned_operand<X> {
  using type = stepping_t<X>;
};
template <class X>
  requires(requires { typename X::plain_type; } && !Stepping<X>)
struct planned_operand<X> {
  using type = typename X::plain_type;
};

template <class Op, class... Parts>
struct call_runner;
template <class Op, class... Routes, class... After>
struct call_runner<Op, type_list<Routes...>, plans::Apply<Op>, plans::Result<After...>> {
  template <class... X>
  static constexpr auto run(X const&... x) {
    return run_plan(plans::Route<After...>{}, settled(planned_call<Op>::run(run_plan(Routes{}, x)...)));
  }
};
template <class Op, class... Routes, int K, class... Steps, class... Rest>
struct call_runner<Op, type_list<Routes...>, plans::Arg<K, Steps...>, Rest...> : call_runner<Op, type_list<Routes..., plans::Route<Steps...>>, Rest...> {};

template <class Op, class... Parts, class... X>
constexpr auto run_call(plans::Plan<Parts...>, X const&... x) {
  return call_runner<Op, type_list<>, Parts...>::run(x...);
}
template <class Op, class Query, class... Parts, class... X>
constexpr auto run_planned(plans::Plan<Parts...> plan, X const&... x) {
  return run_call<Op>(plan, x...);
}
template <class Op, class Query, class Plans, class... X>
auto run_planned(Plans several, X const&... x) {
  return run_cheapest<Query>(several, [&](auto plan) { return run_call<Op>(plan, x...); }, x...);
}

/// Is it a plan of Op on so many operands?
template <class Op, int Operands, class Plan>
inline constexpr bool is_plan_of = false;
template <class Op, int Operands, class... Parts>
inline constexpr bool is_plan_of<Op, Operands, plans::Plan<Parts...>> =
    sizeof...(Parts) == Operands + 2 && (std::is_same_v<Parts, plans::Apply<Op>> || ...);

/// Requested: a target, or nothing, and the operands.
template <class Op, class Golden, class... Requested, class... X>
constexpr auto planned_result(type_list<Requested...>, X const&... x) {
  if constexpr (!plans::has_strategy<std::remove_cvref_t<decltype(rule_of<Op>)>>) {
    static_assert(has_plan<Op>, "sla[E16]: the rule of this operation is a composition, or knows nothing of ranks: it has no table to plan by. Bring each "
                                "operand where the rule takes it, redistribute<...>(x), and call the operation");
    return settled(stand_in(x...));
  } else if constexpr (!Plannable<Op, Requested...>) {
    static_assert(has_plan<Op, Requested...>, "sla[E16]: no redistribution of these operands makes the call legal, or leads to the placements wanted");
    return settled(stand_in(x...));
  } else {
    using P = sla::plan_of<Op, Requested...>;
    if constexpr (!std::is_void_v<Golden>)
      static_assert(plan_is_expected<P, Golden>, "sla: the plan of this call, the first type below, is not the expected one, the second");
    if constexpr ((Outlined<X> || ...) && is_chosen_at_run_time<P>) {
      static_assert(has_plan<P>, "sla: the plan of this call depends on sizes that the types leave open, and so does the schedule: give static extents, "
                                 "or a plan: plans::Prefer<...>");
      return settled(stand_in(x...));
    } else {
      return run_planned<Op, plans::requested_op_t<Op, Requested...>>(P{}, settled(x)...);
    }
  }
}

// What stands between < and > after the operation.
template <class Op, class Requested>
struct requested_plan;
template <class Op, class... P>
struct requested_plan<Op, To<P...>> {
  template <class... X>
  static constexpr auto run(X const&... x) {
    return planned_result<Op, void>(type_list<To<P...>, typename planned_operand<X>::type...>{}, x...);
  }
};
template <class Op, class Golden>
struct requested_plan<Op, plans::Expect<Golden>> {
  template <class... X>
  static constexpr auto run(X const&... x) {
    return planned_result<Op, Golden>(type_list<typename planned_operand<X>::type...>{}, x...);
  }
};
template <class Op, class Plan>
struct requested_plan<Op, plans::Prefer<Plan>> {
  template <class... X>
  static constexpr auto run(X const&... x) {
    if constexpr (is_plan_of<Op, int(sizeof...(X)), Plan>) {
      return run_call<Op>(Plan{}, settled(x)...);
    } else {
      static_assert(is_plan_of<Op, int(sizeof...(X)), Plan>, "sla: the preferred plan is a plans::Plan of this operation, with a plans::Arg for each operand");
      return settled(stand_in(x...));
    }
  }
};

} // namespace detail

/// Op of the operands, after the cheapest steps that make the call legal: `plan_of<Op, X...>` is their type and
/// `explain_plan<Op, X...>()` their words. Sparse operands stay where they are. Where no type tells the sizes of the operands, the plan
/// is a PlanSet, and the sizes of the whole operands, which all ranks know, choose from it; the placements of the result are those
/// that equal sizes would choose.
/// Gradient: that of the steps and of the operation. Cost: that of the plan; nothing if the call is legal as it stands.
/// Law: the rule of Op is a table (spmd/rule/tables.hpp) or by kind, no composition. Errors: as redistribute.
template <class Op, class... X>
constexpr auto auto_plan(X const&... x) {
  return detail::planned_result<Op, void>(detail::type_list<typename detail::planned_operand<X>::type...>{}, x...);
}
/// The result in the placements wanted, `auto_plan<op::add, To<Shard<0>>>(a, b)`, whose steps are paid for too; or by a plan that
/// is expected, `auto_plan<op::add, plans::Expect<plans::Plan<...>>>(a, b)`: the program is refused where the planner finds another one;
/// or by a plan that is preferred, plans::Prefer<plans::Plan<...>>, whatever the planner finds: each of its steps is legal, or is refused.
template <class Op, class Requested, class... X>
  requires requires { sizeof(detail::requested_plan<Op, Requested>); }
constexpr auto auto_plan(X const&... x) {
  return detail::requested_plan<Op, Requested>::run(x...);
}

} // namespace sla
