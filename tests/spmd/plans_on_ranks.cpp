// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every plan between two placements of a tensor is carried out on simulated ranks, step by step: afterwards each rank
// has what it would have been sharded at once. All orders of axes, equal and unequal pieces.
#include <algorithm>
#include <vector>

#include <sla/spmd/plan/operation.hpp>
#include <sla/spmd/plan/route.hpp>
#include <sla/spmd/check/sim/mesh_step.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>

#include "catch.hpp"

namespace test_plans_on_ranks {

using namespace sla;
using namespace sla::plans;

namespace {

constexpr std::int16_t equal = 1, unequal = 2;

/// All placements of a tensor by Replicate, pending sums and shards of these families.
std::vector<tensor_placement> all_typings(int axes, int dims, std::vector<std::int16_t> const& families) {
  std::vector<placement_value> choices = {{placement_kind::replicate}, {placement_kind::partial, monoid::sum}};
  for (int d = 0; d < dims; ++d)
    for (auto f : families)
      for (int level = 0; level < axes; ++level)
        choices.push_back(
            {placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), f, -1, static_cast<std::int8_t>(level)});
  std::vector<tensor_placement> out;
  std::vector<std::size_t> at(static_cast<std::size_t>(axes), 0);
  for (;;) {
    tensor_placement t;
    t.axes = static_cast<std::int8_t>(axes);
    t.rank = static_cast<std::int8_t>(dims);
    for (int a = 0; a < axes; ++a) t.on[a] = choices[at[static_cast<std::size_t>(a)]];
    t = canonical(t);
    if (std::find(out.begin(), out.end(), t) == out.end()) out.push_back(t);
    std::size_t n = 0;
    while (n < at.size() && ++at[n] == choices.size()) at[n++] = 0;
    if (n == at.size()) return out;
  }
}

struct tally {
  int plans = 0, steps = 0, flattened = 0, none = 0, wrong = 0;
};

/// The steps of a plan on all ranks; the placement after them.
tensor_placement run(sim::world const& w, planned_route const& r, step_list const& path, tensor_placement const& from,
           sim::on_ranks<double>& xs, std::vector<int> const& extents, tally& c) {
  auto at = from;
  for (int k = 0; k < path.size; ++k) {
    auto const& s = path.steps[k];
    auto const next = tensor_placement_of(r, s.after, from);
    std::vector<int> acting; // outermost first
    bool const arrives = s.how == step::reduce_scatter || s.how == step::convert;
    int dim = -1; // of a new order: all axes that shard it take part, also those that keep their places
    for (int a = 0; a < from.axes; ++a)
      if (s.how == step::permute_shards && (s.axes >> a & 1)) dim = at.on[a].dim;
    for (int a : sim::detail::outer_first(arrives ? next : at))
      if (dim >= 0 ? is_sharded(at.on[a].kind) && at.on[a].dim == dim : s.axes >> a & 1) acting.push_back(a);
    xs = sim::take_step(w, s.how, acting, at, next, xs, extents);
    c.flattened += acting.size() > 1;
    ++c.steps;
    at = next;
  }
  return at;
}

plan_setting setting_of(std::vector<int> const& mesh, bool even) {
  plan_setting m;
  m.axes = static_cast<std::int8_t>(mesh.size());
  m.families = 3;
  for (std::size_t a = 0; a < mesh.size(); ++a) m.size[static_cast<int>(a)] = mesh[a];
  m.wired = two_level(1);
  m.even[equal] = true;
  m.stated[equal] = m.stated[unequal] = true;
  m.plain = even ? equal : std::int16_t{-1};
  return m;
}
sim::world world_of(std::vector<int> const& mesh) {
  sim::world w{mesh};
  w.families = {{}, {family_facts_of<Even>}, {family_facts_of<Balanced>}};
  return w;
}

/// Plans for every pair (or every so many) carried out on a value of these extents.
tally carry_out(std::vector<int> const& mesh, std::vector<int> const& extents,
                std::vector<std::int16_t> const& families, int every = 1) {
  int const axes = static_cast<int>(mesh.size()), dims = static_cast<int>(extents.size());
  auto const w = world_of(mesh);
  auto const m = setting_of(mesh, families[0] == equal);
  sim::array<double> value(extents);
  for (int n = 0; n < value.size(); ++n) value[n] = n * n % 31 - 11;
  tally c;
  int number = 0;
  auto const all = all_typings(axes, dims, families);
  for (auto const& from : all)
    for (auto const& to : all) {
      if (++number % every || from == to) continue;
      bool made_sum = false; // of what was sharded
      for (int a = 0; a < axes; ++a)
        made_sum = made_sum || (to.on[a].kind == placement_kind::partial && is_sharded(from.on[a].kind));
      auto r = route_between(from, to, m);
      r.problem.bytes = number % 2 ? 800 : 80000000; // small and large tensors have other plans
      auto const path = r.possible ? search<1024>(r.problem, r.from, &r.to).path(r.to) : step_list{0, unreachable_cost};
      if (!path.reachable()) {
        ++c.none;
        if (!made_sum) ++c.wrong; // nothing but that has no plan
        continue;
      }
      auto xs = sim::split(w, from, value);
      if (xs.empty()) continue;
      ++c.plans;
      auto const at = run(w, r, path, from, xs, extents, c);
      auto const back = sim::joined(w, to, xs, extents);
      bool const right = at == to && back && same(*back, value);
      bool pending = false;
      for (int a = 0; a < axes; ++a) pending = pending || to.on[a].kind == placement_kind::partial;
      if (!right || (!pending && xs != sim::split(w, to, value))) ++c.wrong;
    }
  return c;
}

} // namespace

TEST_CASE("plans on one and two axes") {
  for (auto const& [mesh, extents] :
       {std::pair<std::vector<int>, std::vector<int>>{{3}, {6, 9}}, {{2, 2}, {4, 8}}, {{2, 3}, {6, 12}}}) {
    auto const c = carry_out(mesh, extents, {equal});
    INFO(c.plans << " plans, " << c.steps << " steps, " << c.flattened << " of several axes, " << c.none
                 << " pairs without");
    CHECK(c.wrong == 0);
    CHECK(c.plans > 5);
    if (mesh.size() > 1) CHECK(c.flattened > 0);
  }
}

TEST_CASE("plans on three axes") {
  auto const c = carry_out({2, 2, 3}, {12, 24}, {equal}, 7);
  INFO(c.plans << " plans, " << c.steps << " steps, " << c.flattened << " of several axes, " << c.none
               << " pairs without");
  CHECK(c.wrong == 0);
  CHECK(c.plans > 800);
}

TEST_CASE("plans for unequal pieces move one axis at a time") {
  for (auto const& mesh : {std::vector<int>{2, 2}, {2, 3}, {3, 2}})
    for (auto const& extents : {std::vector<int>{5, 7}, {1, 6}, {9, 4}}) {
      auto const c = carry_out(mesh, extents, {unequal});
      INFO(c.plans << " plans, " << c.steps << " steps, " << c.none << " pairs without");
      CHECK(c.wrong == 0);
      CHECK(c.plans > 50);
    }
}

namespace {

using array = sim::array<double>;

array numbers(std::vector<int> const& extents, int shift) {
  array x(extents);
  for (int n = 0; n < x.size(); ++n) x[n] = (n * n + 3 * n * shift + shift) % 29 - 13;
  return x;
}
array product(array const& a, array const& b) {
  if (a.extent(1) != b.extent(0)) return sim::no_result<double>();
  array c({a.extent(0), b.extent(1)});
  for (int i = 0; i < c.extent(0); ++i)
    for (int j = 0; j < c.extent(1); ++j)
      for (int k = 0; k < a.extent(1); ++k) c(i, j) += a(i, k) * b(k, j);
  return c;
}
array sum(array const& a, array const& b) {
  if (a.extents != b.extents) return sim::no_result<double>();
  auto c = a;
  for (int n = 0; n < c.size(); ++n) c[n] += b[n];
  return c;
}

/// Every pair of placements: the operands are led to where the plan wants them, the operation runs on every rank.
template <class F>
tally operate(strategy const& s, F f, array const& a, array const& b, std::vector<int> const& mesh, std::int16_t family,
              bool with_target) {
  auto const w = world_of(mesh);
  array const* const values[] = {&a, &b};
  auto const truth = f(a, b);
  tally c;
  int number = 0;
  for (auto const& first : all_typings(2, 2, {family}))
    for (auto const& second : all_typings(2, 2, {family})) {
      operation_problem p;
      p.how = s;
      p.inputs = 2;
      p.given[0].type = first;
      p.given[1].type = second;
      p.mesh = setting_of(mesh, family == equal);
      ++number;
      if (with_target) { // whole on all ranks
        if (number % 5) continue;
        p.has_target = true;
        p.target.axes = p.target.rank = 2;
        p.target.on[0] = p.target.on[1] = {placement_kind::replicate};
      }
      auto const plan = plan_operation(p, {{number % 2 ? 500 : 5000000, 70000}}, 3000);
      if (!plan.reachable()) {
        ++c.none;
        continue;
      }
      ++c.plans;
      std::vector<sim::on_ranks<double>> parts;
      bool right = true;
      for (int k = 0; k < 2; ++k) {
        auto xs = sim::split(w, p.given[k].type, *values[k]);
        auto const r = route_between(p.given[k].type, plan.operand[k], p.mesh);
        auto const path = search<1024>(r.problem, r.from, &r.to).path(r.to);
        right =
            right && path.reachable() && run(w, r, path, p.given[k].type, xs, values[k]->extents, c) == plan.operand[k];
        right = right && !xs.empty();
        xs.resize(static_cast<std::size_t>(w.size()), sim::no_result<double>());
        parts.push_back(std::move(xs));
      }
      operand const moved[] = {{plan.operand[0]}, {plan.operand[1]}};
      auto const said = check(s, moved);
      right = right && said.ok() && said.type == plan.result;
      sim::on_ranks<double> made;
      for (std::size_t n = 0; n < parts[0].size(); ++n) made.push_back(f(parts[0][n], parts[1][n]));
      auto at = plan.result;
      if (with_target) {
        auto const r = route_between(plan.result, p.target, p.mesh);
        at = run(w, r, search<1024>(r.problem, r.from, &r.to).path(r.to), plan.result, made, truth.extents, c);
        right = right && at == p.target;
      }
      auto const whole = sim::joined(w, at, made, truth.extents);
      if (!right || !whole || !same(*whole, truth)) ++c.wrong;
    }
  return c;
}

} // namespace

TEST_CASE("planned operations are right from all placements") {
  for (bool target : {false, true})
    for (auto const& mesh : {std::vector<int>{2, 2}, {2, 3}}) {
      auto const s = strategies::einsum("mk,kn->mn");
      auto const c = operate(s, product, numbers({12, 24}, 1), numbers({24, 12}, 2), mesh, equal, target);
      auto const d = operate(strategies::add(dims(12, 24), dims(12, 24)), sum, numbers({12, 24}, 3),
                             numbers({12, 24}, 4), mesh, equal, target);
      auto const e = operate(s, product, numbers({5, 7}, 5), numbers({7, 3}, 6), mesh, unequal, target);
      INFO(c.plans << ", " << d.plans << " and " << e.plans << " plans; without: " << c.none << ", " << d.none << ", "
                   << e.none);
      CHECK(c.wrong + d.wrong + e.wrong == 0);
      CHECK(c.plans + d.plans + e.plans > (target ? 150 : 800));
      CHECK(c.none == 0);
    }
}

} // namespace test_plans_on_ranks
