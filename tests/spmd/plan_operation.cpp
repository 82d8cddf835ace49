// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner of operations against the joint search: every placement of all operands together that the rules accept, at
// the sum of what the operands cost, for all placements given, on a mesh of two axes.
#include <map>
#include <vector>

#include "catch.hpp"

#include <sla/spmd/plan/operation.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>

namespace test_plan_operation {

using namespace sla;
using namespace sla::plans;

namespace {

plan_setting two_axes() {
  plan_setting m;
  m.axes = 2;
  m.size = {{2, 4}};
  m.families = 1;
  m.even[0] = m.stated[0] = true;
  m.plain = 0;
  m.wired = two_level(1);
  return m;
}

// All placements of a tensor on two axes by kinds R, P and shards, with both orders where the axes share a dimension.
std::vector<tensor_placement> all_typings(int rank) {
  std::vector<placement_value> kinds = {{placement_kind::replicate}, {placement_kind::partial, monoid::sum}};
  for (int d = 0; d < rank; ++d) kinds.push_back({placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), 0});
  std::vector<tensor_placement> out;
  for (auto a : kinds)
    for (auto b : kinds) {
      tensor_placement t;
      t.axes = 2;
      t.rank = static_cast<std::int8_t>(rank);
      t.on[0] = a;
      t.on[1] = b;
      out.push_back(t);
      if (a.kind != placement_kind::shard || a.dim != b.dim) continue;
      t.on[0].level = 1;
      out.push_back(t);
    }
  return out;
}

bool has_shards(tensor_placement const& t) {
  bool any = false;
  for (int a = 0; a < t.axes; ++a) any = any || t.on[a].kind == placement_kind::shard;
  return any;
}

struct table { // costs of one tensor between all of its placements
  std::vector<tensor_placement> all;
  std::vector<std::vector<std::int64_t>> cost;
  table(int rank, std::int64_t bytes) : all(all_typings(rank)) {
    for (auto const& x : all) {
      cost.emplace_back();
      for (auto const& y : all) {
        auto const r = route_between(x, y, two_axes());
        auto g = r.problem;
        g.bytes = bytes;
        cost.back().push_back(search<256>(g, r.from, &r.to).to(r.to));
      }
    }
  }
};

operand as_operand(tensor_placement const& t) {
  operand o;
  o.type = t;
  return o;
}

/// Every `every`-th combination of given placements; how many were compared.
int compare(strategy const& how, std::vector<int> const& ranks, std::vector<std::int64_t> const& sizes, std::size_t every = 1) {
  int const n = static_cast<int>(ranks.size());
  std::map<int, std::map<std::int64_t, table>> known;
  std::vector<table const*> of;
  for (int k = 0; k < n; ++k) {
    auto& by_size = known[ranks[std::size_t(k)]];
    of.push_back(&by_size.try_emplace(sizes[std::size_t(k)], ranks[std::size_t(k)], sizes[std::size_t(k)]).first->second);
  }
  std::size_t total = 1;
  for (auto const* t : of) total *= t->all.size();
  auto const numbers = [&](std::size_t which) {
    std::vector<std::size_t> out;
    for (auto const* t : of) out.push_back(which % t->all.size()), which /= t->all.size();
    return out;
  };
  std::vector<std::vector<std::size_t>> accepted, without_shards; // what the rules accept as it stands
  for (std::size_t c = 0; c < total; ++c) {
    auto const at = numbers(c);
    operand o[max_operands];
    bool sharded = false;
    for (std::size_t k = 0; k < at.size(); ++k) o[k] = as_operand(of[k]->all[at[k]]), sharded = sharded || has_shards(o[k].type);
    if (!check(how, {o, at.size()}).ok()) continue;
    accepted.push_back(at);
    if (!sharded) without_shards.push_back(at);
  }
  int compared = 0, wrong = 0;
  for (std::size_t c = 0; c < total; c += every) {
    auto const at = numbers(c);
    operation_problem p;
    p.how = how;
    p.inputs = n;
    p.mesh = two_axes();
    fixed_array<std::int64_t, max_operands> bytes{};
    bool sharded = false;
    for (int k = 0; k < n; ++k) {
      p.given[k] = as_operand(of[std::size_t(k)]->all[at[std::size_t(k)]]);
      bytes[k] = sizes[std::size_t(k)];
      sharded = sharded || has_shards(p.given[k].type);
    }
    std::int64_t best = unreachable_cost;
    for (auto const& to : sharded ? accepted : without_shards) { // who gives no shards gets none
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < to.size() && sum < unreachable_cost; ++k) {
        auto const d = of[k]->cost[at[k]][to[k]];
        sum = d == unreachable_cost ? d : sum + d;
      }
      best = std::min(best, sum);
    }
    auto const plan = plan_operation(p, bytes);
    bool right = plan.cost == best;
    if (plan.reachable()) { // and what it says of the operands is accepted, and is the result
      operand o[max_operands];
      std::int64_t sum = 0;
      for (int k = 0; k < n; ++k) {
        o[k] = as_operand(plan.operand[k]);
        auto const r = route_between(p.given[k].type, plan.operand[k], p.mesh);
        auto g = r.problem;
        g.bytes = bytes[k];
        sum += search<256>(g, r.from, &r.to).to(r.to);
      }
      auto const now = check(how, {o, static_cast<std::size_t>(n)});
      right = right && now.ok() && now.type == plan.result && sum == plan.cost;
      if (check(how, p.operands()).ok()) right = right && plan.cost == 0 && plan.steps == 0;
    }
    wrong += !right;
    ++compared;
  }
  CHECK(wrong == 0);
  return compared;
}

} // namespace

TEST_CASE("one search per operand finds what the joint search finds") {
  std::int64_t const n = GENERATE(1 << 10, 1 << 22);
  CHECK(compare(strategies::einsum("mk,kn->mn"), {2, 2}, {n, n * 3}) == 18 * 18);
  CHECK(compare(strategies::einsum("mk,k->m"), {2, 1}, {n, 4096}) == 18 * 10);
  CHECK(compare(strategies::add(dims::unknown(2), dims::unknown(2)), {2, 2}, {n, n}) == 18 * 18);
  CHECK(compare(strategies::mul(dims::unknown(2), dims::unknown(2)), {2, 2}, {n, n}) == 18 * 18);
  CHECK(compare(strategies::unary(dims::unknown(2)), {2}, {n}) == 18);
}

TEST_CASE("and on products of batches and products with a bias") {
  CHECK(compare(strategies::einsum("bmk,bkn->bmn"), {3, 3}, {1 << 20, 1 << 18}, 3) == 262);
  CHECK(compare(strategies::einsum_plus("mk,kn->mn", dims::unknown(1), 0, dims::unknown(2), dims::unknown(2)), {1, 2, 2}, {1 << 10, 1 << 20, 1 << 18}, 13) == 250);
}

TEST_CASE("an operand that is used twice is moved once, a result that is wanted is paid for") {
  tensor_placement pending;
  pending.axes = 2;
  pending.rank = 1;
  pending.on[0] = {placement_kind::replicate};
  pending.on[1] = {placement_kind::partial, monoid::sum};
  tensor_placement whole = pending;
  whole.on[1] = {placement_kind::replicate};
  operation_problem p;
  p.how = strategies::einsum("i,i->");
  p.inputs = 2;
  p.mesh = two_axes();
  p.given[0] = p.given[1] = as_operand(pending);
  auto const apart = plan_operation(p, {{4096, 4096}}); // one factor is completed: sum of the others stays pending
  CHECK(apart.operand[0] == pending);
  CHECK(apart.operand[1] == whole);
  CHECK(apart.result.on[1] == placement_value{placement_kind::partial, monoid::sum});
  p.same_as[1] = 0;
  auto const together = plan_operation(p, {{4096, 4096}});
  CHECK(together.operand[0] == whole);
  CHECK(together.operand[1] == whole);
  CHECK(together.cost == apart.cost);
  CHECK(together.result.on[1] == placement_value{placement_kind::replicate});

  // Without a target a product of copies costs nothing; with one it is made in parts, which is cheaper than cutting it after.
  operation_problem q;
  q.how = strategies::einsum("mk,kn->mn");
  q.inputs = 2;
  q.mesh = two_axes();
  whole.rank = 2;
  q.given[0] = q.given[1] = as_operand(whole);
  CHECK(plan_operation(q, {{4096, 4096}}, 4096).cost == 0);
  q.has_target = true;
  q.target = whole;
  q.target.on[1] = {placement_kind::shard, monoid::none, 0, 0};
  auto const wanted = plan_operation(q, {{4096, 4096}}, 4096);
  CHECK(wanted.steps == 1);
  // A pending product that is wanted whole: the reduction is paid, so operands are preferred as they are only if that is cheaper.
  q.given[0].type.on[1] = {placement_kind::shard, monoid::none, 1, 0};
  q.given[1].type.on[1] = {placement_kind::shard, monoid::none, 0, 0};
  q.target = whole;
  auto const small_result = plan_operation(q, {{1 << 24, 1 << 24}}, 64);
  CHECK(small_result.result.on[1].kind == placement_kind::partial);
  auto const small_operands = plan_operation(q, {{64, 64}}, 1 << 24);
  CHECK(small_operands.result == whole);
}

TEST_CASE("sparse operands stay where they are, and what fits is left alone") {
  plan_setting m = two_axes();
  m.families = 2; // 1: a partition found at run time
  operation_problem p;
  p.inputs = 2;
  p.mesh = m;
  tensor_placement A, x;
  A.axes = x.axes = 2;
  A.rank = 2;
  A.batch = 0;
  x.rank = 1;
  A.on[0] = {placement_kind::replicate};
  A.on[1] = {placement_kind::sparse_shard, monoid::none, 0, 1};
  for (auto const& given : all_typings(1)) {
    x.on = given.on;
    for (int axis = 0; axis < 2; ++axis)
      for (int found : {0, 1}) {
        auto at = x;
        if (at.on[axis].kind == placement_kind::shard) at.on[axis].family = static_cast<std::int16_t>(found);
        p.given[0] = as_operand(A);
        p.given[1] = as_operand(at);
        p.how = strategy_of({index_use::matvec, linearity::separate, 0, monoid::sum}, p.operands());
        auto const plan = plan_operation(p, {});
        REQUIRE(plan.reachable());
        CHECK(plan.operand[0] == A);
        operand o[] = {p.given[0], as_operand(plan.operand[1])};
        CHECK(check(p.how, o).ok());
        CHECK((plan.cost == 0) == check(p.how, p.operands()).ok());
      }
  }
}

namespace {

/// The placement of the index of dimension d: its axes in order, up to axis a, with their families.
std::vector<std::pair<int, int>> sharded_up_to(tensor_placement const& t, int d, int a) {
  std::vector<std::pair<int, int>> out;
  auto const order = order_of(t, d);
  for (int n = 0; n < order.count; ++n) {
    out.emplace_back(order.axis[n], t.on[order.axis[n]].family);
    if (order.axis[n] == a) return out;
  }
  return {};
}

std::int16_t const by_table = 1; // a family that refuses extents

/// All placements, with each subset of the shards by that family.
std::vector<tensor_placement> with_tables(int rank) {
  std::vector<tensor_placement> out;
  for (auto const& t : all_typings(rank))
    for (unsigned by = 0; by < 4; ++by) {
      auto u = t;
      bool fits = true;
      for (int a = 0; a < 2; ++a)
        if (by >> a & 1) fits = fits && t.on[a].kind == placement_kind::shard, u.on[a].family = by_table;
      if (fits) out.push_back(u);
    }
  return out;
}

/// Plans of two operands from all such placements, `index` names their dimensions. Returns how many plans shard by that family anew.
int plans_with_tables(strategy const& how, std::vector<std::vector<int>> const& index) {
  int wrong = 0, anew = 0, none = 0;
  for (auto const& x : with_tables(int(index[0].size())))
    for (auto const& y : with_tables(int(index[1].size()))) {
      operation_problem p;
      p.how = how;
      p.inputs = 2;
      p.mesh = two_axes();
      p.mesh.families = 2;
      p.mesh.stated[by_table] = p.mesh.rejects_some_extents[by_table] = true;
      p.given[0] = as_operand(x);
      p.given[1] = as_operand(y);
      fixed_array<std::int64_t, max_operands> const bytes{{1 << 20, 1 << 16}};
      auto const plan = plan_operation(p, bytes);
      none += !plan.reachable();
      for (int k = 0; k < 2 && plan.reachable(); ++k) {
        auto const route = route_of_operand(p, k);
        auto g = route.problem;
        g.bytes = bytes[k];
        auto const path = search<1024>(g, route.from).path(state_of(route, plan.operand[k]));
        for (int n = 0; n < path.size; ++n) {
          auto const t = tensor_placement_of(route, path.steps[n].after, p.given[k].type);
          for (int a = 0; a < 2; ++a) {
            if (t.on[a].kind != placement_kind::shard || t.on[a].family != by_table) continue;
            auto const here = sharded_up_to(t, t.on[a].dim, a);
            bool found = false;
            for (int l = 0; l < 2; ++l)
              for (int d = 0; d < int(index[std::size_t(l)].size()); ++d)
                found = found || (index[std::size_t(l)][std::size_t(d)] == index[std::size_t(k)][std::size_t(t.on[a].dim)] &&
                                  here == sharded_up_to(p.given[l].type, d, a));
            wrong += !found;
            anew += here != sharded_up_to(p.given[k].type, t.on[a].dim, a);
          }
        }
      }
    }
  CHECK(wrong == 0);
  CHECK(none == 0);
  return anew;
}

} // namespace

TEST_CASE("a family that refuses extents shards of an operand only what it does of another along the same index") {
  CHECK(plans_with_tables(strategies::add(dims::unknown(2), dims::unknown(2)), {{0, 1}, {0, 1}}) > 0);
  CHECK(plans_with_tables(strategies::einsum("mk,k->m"), {{0, 1}, {1}}) > 0);
}

} // namespace test_plan_operation
