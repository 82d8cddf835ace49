// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan of several (spmd/plan/plan_set.hpp) that a call takes: the cheapest at the sizes of its whole operands, on all
// ranks alike. Plans are carried out in dist/plan/auto_plan.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include <sla/dist/plan/redistribute.hpp>
#include <sla/spmd/plan/plan_set.hpp>

namespace sla::detail {

/// The bytes of a whole operand; of what no plan moves they do not matter.
template <class X>
index_t planned_bytes(X const& x) {
  auto const& value = value_under(x);
  if constexpr (DistributedTensor<decltype(value)>)
    return global_bytes(value);
  else
    return 1;
}

/// The bytes of the whole result, before it is there: by the operands that have its indices; else it counts as large as the largest.
template <class Query, class... X>
index_t result_bytes(X const&... x) {
  index_t bytes = 1, width = 1;
  for (int d = 0; d < Query::problem.how.result_rank[0]; ++d) {
    auto const from = plans::source_of_extent(Query::problem, d);
    int k = 0;
    index_t extent = 0;
    auto const look = [&](auto const& value) {
      if constexpr (DistributedTensor<decltype(value)>) {
        width = (std::max)(width, index_t(sizeof(typename std::remove_cvref_t<decltype(value)>::value_type)));
        if (k == from.operand) extent = global_extent(value, from.dim);
      }
      ++k;
    };
    (look(value_under(x)), ...);
    if (extent == 0) return (std::max)({planned_bytes(x)...});
    bytes *= extent;
  }
  return bytes * width;
}

/// Do the extents of the operands divide into the equal pieces of the N-th plan?
template <class Query, int N, int... K, class... X>
bool plan_divides(std::integer_sequence<int, K...>, X const&... x) {
  using member = plans::set_member<Query, N>;
  auto const fits = []<int M>(std::integral_constant<int, M>, auto const& operand) {
    using path = typename member::template before<M>;
    if constexpr (plans::reshards<path>)
      return divides<typename path::way, path::piece>(value_under(operand));
    else
      return true;
  };
  return (fits(std::integral_constant<int, K>{}, x) && ...);
}

/// The number of the plan that is taken, of N... plans; as many as there are if the extents of the operands divide into the pieces of none.
template <class Query, int... N, class... X>
int cheapest_plan(std::integer_sequence<int, N...>, X const&... x) {
  plans::operand_bytes bytes{{planned_bytes(x)...}};
  bytes[int(sizeof...(X))] = result_bytes<Query>(x...);
  bool const fits[] = {plan_divides<Query, N>(std::make_integer_sequence<int, int(sizeof...(X))>{}, x...)...};
  int chosen = int(sizeof...(N));
  auto least = (std::numeric_limits<std::int64_t>::max)();
  for (int n = 0; n < int(sizeof...(N)); ++n) {
    auto const cost = plans::plan_set_v<Query>.at[n].cost.at(bytes);
    if (!fits[n] || cost >= least) continue;
    least = cost;
    chosen = n;
  }
  return chosen;
}

/// run(plan) for the plan that is taken.
template <class Query, class... Plans, class F, class... X>
auto run_cheapest(plans::PlanSet<Plans...>, F const& run, X const&... x) {
  int const chosen = cheapest_plan<Query>(std::make_integer_sequence<int, plans::plan_set_v<Query>.size>{}, x...);
  return chosen_result((std::min)(chosen, int(sizeof...(Plans)) - 1), [&] { return run(typename Plans::plan{}); }...);
}

/// Do sizes choose the plan, which only the run knows?
template <class Plan>
inline constexpr bool is_chosen_at_run_time = false;
template <class... Plans>
inline constexpr bool is_chosen_at_run_time<plans::PlanSet<Plans...>> = true;

} // namespace sla::detail
