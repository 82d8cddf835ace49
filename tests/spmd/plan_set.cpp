// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of calls whose operands have sizes that only the run knows: at sampled sizes the plan that is chosen costs what a direct
// search over all placements of all operands finds at these sizes, among those that end in the same placement.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"

#include <sla/spmd/plan/explain_plan.hpp>
#include <sla/spmd/rule/table/einsum.hpp>

namespace test_plan_set {

using namespace sla;
using namespace sla::plans;

using Node = mesh<axis<"outer", 2>, axis<"inner", 4>>;
using Line = mesh<axis<"tp", 4>>;
struct product {};

template <index_t... E>
struct held {
  using value_type = double;
  using extents_type = Extents<E...>;
};
template <class... P>
using Open = distributed<held<dyn, dyn>, Node, P...>;
template <class... P>
using Row = distributed<held<dyn, dyn>, Line, P...>;
using R = Replicate;
using S0 = Shard<0>;
using S1 = Shard<1>;
using P = Partial<>;

} // namespace test_plan_set

namespace sla {
template <>
inline constexpr auto rule_of<test_plan_set::product> = strategies::einsum("mk,kn->mn");
template <>
inline constexpr topology topology_of<test_plan_set::Node> = two_level(1, {600, 90909}, {2700, 20000});
} // namespace sla

namespace test_plan_set {
namespace {

/// All placements of a matrix by R, P and shards, with both orders where two axes share a dimension.
std::vector<tensor_placement> all_typings(int axes, std::int16_t family) {
  std::vector<placement_value> kinds = {{placement_kind::replicate}, {placement_kind::partial, monoid::sum}};
  for (int d = 0; d < 2; ++d) kinds.push_back({placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), family});
  std::vector<tensor_placement> out;
  tensor_placement t;
  t.axes = static_cast<std::int8_t>(axes);
  t.rank = 2;
  for (auto a : kinds) {
    t.on[0] = a;
    if (axes == 1) {
      out.push_back(t);
      continue;
    }
    for (auto b : kinds) {
      t.on[1] = b;
      out.push_back(t);
      if (a.kind != placement_kind::shard || a.dim != b.dim) continue;
      t.on[0].level = 1;
      out.push_back(t);
      t.on[0].level = 0;
    }
  }
  return out;
}

/// What the way of one tensor costs at a size.
std::int64_t way_cost(tensor_placement const& from, tensor_placement const& to, plan_setting const& m, std::int64_t bytes, bool avoid_new_even_shards) {
  if (from == to) return 0;
  auto const r = route_between(from, to, m, {false, avoid_new_even_shards, false, {}});
  if (!r.possible) return unreachable_cost;
  auto g = r.problem;
  g.bytes = bytes;
  return search<256>(g, r.from, &r.to).path(r.to).cost;
}

/// The least cost at these sizes, over all placements of both operands whose result is the planned one, or has a way to the target.
template <class Query>
std::int64_t direct(operand_bytes const& bytes) {
  auto const& p = Query::problem;
  auto const all = all_typings(p.mesh.axes, p.mesh.plain);
  std::vector<std::int64_t> cost[2];
  for (int k = 0; k < 2; ++k)
    for (auto const& t : all) cost[k].push_back(way_cost(p.given[k].type, t, p.mesh, bytes[k], false));
  std::int64_t best = unreachable_cost;
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (cost[0][a] >= unreachable_cost || cost[1][b] >= unreachable_cost) continue;
      operand const o[] = {{all[a]}, {all[b]}};
      auto const now = check(p.how, o);
      if (!now.ok() || (!p.has_target && !(now.type == best_call_v<Query>.result))) continue;
      auto const after = p.has_target ? way_cost(now.type, p.target, p.mesh, bytes[2], true) : 0;
      if (after < unreachable_cost) best = std::min(best, cost[0][a] + cost[1][b] + after);
    }
  return best;
}

/// How often another plan of the set is the cheapest over a grid of sizes; -1 if one of them is not what the direct search finds.
template <class Query>
int chosen_plans() {
  auto const& set = plan_set_v<Query>;
  if (!set.complete || set.size == 0) return -1;
  std::vector<int> used(std::size_t(set.size), 0);
  std::vector<std::int64_t> const samples = {64, 1000, 20000, 90941, 132413, 132414, 1 << 20, 1 << 26, std::int64_t{1} << 33};
  for (auto first : samples)
    for (auto second : samples) {
      operand_bytes bytes{{first, second, std::max(first, second)}};
      if (sizes_in<Query>::value[1] == 0) bytes[1] = bytes[2] = first;
      int best = 0;
      for (int n = 1; n < set.size; ++n)
        if (set.at[n].cost.at(bytes) < set.at[best].cost.at(bytes)) best = n;
      ++used[std::size_t(best)];
      if (set.at[best].cost.at(bytes) != direct<Query>(bytes)) return -1;
    }
  return static_cast<int>(std::count_if(used.begin(), used.end(), [](int n) { return n > 0; }));
}

template <class... T>
int plans_of_product() {
  return chosen_plans<requested_op_t<product, T...>>();
}

} // namespace

TEST_CASE("the plan that sizes choose is the one that a direct search finds at these sizes") {
  CHECK(plans_of_product<Row<S0>, Row<S0>>() == 1);             // without a target, a pending sum: only its operands' ways
  CHECK(plans_of_product<To<S0>, Row<S0>, Row<S0>>() >= 2);     // gather the second, or turn the first and scatter sums
  CHECK(plans_of_product<To<R>, Row<S0>, Row<R>>() >= 1);
  CHECK(plans_of_product<To<S1>, Row<P>, Row<S0>>() >= 2);
  CHECK(plans_of_product<Open<S0, S0>, Open<S0, S0>>() >= 1);
  CHECK(plans_of_product<Open<P, P>, Open<S0, R>>() >= 1);
  CHECK(chosen_plans<requested_op_t<op::mul, Open<P, P>, Open<R, P>>>() >= 1);
  CHECK(chosen_plans<requested_op_t<op::add, Open<S0, S0>, Open<P, P>>>() >= 1);
}
TEST_CASE("a target on two axes") { CHECK(plans_of_product<To<R, S0>, Open<R, S0>, Open<S0, R>>() >= 2); }

TEST_CASE("plan sets are types, and have words") {
  using Gathered = Plan<Arg<0>, Arg<1, AllGather<S0, R, "tp">>, Apply<product>, Result<>>;
  using Moved = Plan<Arg<0, AllGather<S0, R, "tp">>, Arg<1, AllToAll<S0, S1, "tp">>, Apply<product>, Result<AllToAll<S1, S0, "tp">>>;
  using Turned = Plan<Arg<0, AllToAll<S0, S1, "tp">>, Arg<1>, Apply<product>, Result<ReduceScatter<P, S0, "tp">>>;
  using Set = plan_of<product, To<S0>, Row<S0>, Row<S0>>;
  STATIC_REQUIRE(std::is_same_v<Set, PlanSet<Priced<Gathered, 8100000, 0, 2546735, 0>, Priced<Moved, 24300000, 2546735, 636683, 636683>,
                                             Priced<Turned, 16200000, 636683, 0, 2546735>>>);
  STATIC_REQUIRE(count_steps<step::all_gather, Set>() == 1);
  CHECK(std::string(explain_plan<product, To<S0>, Row<S0>, Row<S0>>()) ==
        "8100 ns + 38860 fs/B of operand 1:\n"
        "operand 0 as it is\n"
        "operand 1 {tp: Shard<0>}\n"
        "  AllGather<\"tp\"> to {tp: Replicate}, 8100 ns + 38860 fs/B, backward ReduceScatter<\"tp\">\n"
        "product {tp: Shard<0>}\n"
        "24300 ns + 38860 fs/B of operand 0 + 9715 fs/B of operand 1 + 9715 fs/B of the result:\n"
        "operand 0 {tp: Shard<0>}\n"
        "  AllGather<\"tp\"> to {tp: Replicate}, 8100 ns + 38860 fs/B, backward ReduceScatter<\"tp\">\n"
        "operand 1 {tp: Shard<0>}\n"
        "  AllToAll<\"tp\"> to {tp: Shard<1>}, 8100 ns + 9715 fs/B, backward AllToAll<\"tp\">\n"
        "product {tp: Shard<1>}\n"
        "  AllToAll<\"tp\"> to {tp: Shard<0>}, 8100 ns + 9715 fs/B, backward AllToAll<\"tp\">\n"
        "16200 ns + 9715 fs/B of operand 0 + 38860 fs/B of the result:\n"
        "operand 0 {tp: Shard<0>}\n"
        "  AllToAll<\"tp\"> to {tp: Shard<1>}, 8100 ns + 9715 fs/B, backward AllToAll<\"tp\">\n"
        "operand 1 as it is\n"
        "product {tp: Partial<Sum>}\n"
        "  ReduceScatter<\"tp\"> to {tp: Shard<0>}, 8100 ns + 38860 fs/B, backward AllGather<\"tp\">\n");
}

} // namespace test_plan_set
