// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans where bits are to be equal on all ranks: nothing is reduced after copies were made. Golden plans, and all pairs of
// placements by searches at run time.
#include <vector>

#include "catch.hpp"

#include <sla/spmd/plan/call.hpp>
#include <sla/spmd/plan/plan_set.hpp>

namespace test_plan_bitwise {
namespace {

using namespace sla;
using namespace sla::plans;

using Two = mesh<axis<"far", 2>, axis<"near", 4>>;
using Three = mesh<axis<"far", 2>, axis<"mid", 2>, axis<"near", 4>>;

template <index_t... E>
struct held {
  using value_type = double;
  using extents_type = Extents<E...>;
};
template <class... Q>
using Unknown = distributed<held<dyn, dyn>, Two, Q...>;
template <index_t M, index_t N, class... Q>
using Known = distributed<held<M, N>, Two, Q...>;
template <index_t M, index_t N, class... Q>
using Known3 = distributed<held<M, N>, Three, Q...>;
using R = Replicate;
using P = Partial<>;
using S0 = Shard<0>;
using S1 = Shard<1>;

constexpr topology equal_bits(topology t) {
  t.bitwise_replicated = true;
  return t;
}

} // namespace
} // namespace test_plan_bitwise

namespace sla {
template <>
inline constexpr topology topology_of<test_plan_bitwise::Two> = test_plan_bitwise::equal_bits(two_level(1, {600, 90909}, {2700, 20000}));
template <>
inline constexpr topology topology_of<test_plan_bitwise::Three> = test_plan_bitwise::equal_bits(two_level(1, {600, 90909}, {2700, 20000}));
} // namespace sla

namespace test_plan_bitwise {
namespace {

TEST_CASE("what is pending on several axes is completed at once, or in parts that are gathered") {
  using Halves = Route<ReduceScatter<P, S0, "near">, AllReduce<P, R, "far">, AllGather<S0, R, "near">>;
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<P, P>, R, R>, Envelope<Piece<0, Halves>, Indivisible<Route<AllReduce<P, R, "far", "near">>>>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Known<64, 64, P, P>, R, R>, Halves>);
  STATIC_REQUIRE(std::is_same_v<route_to<Known<5, 7, P, P>, R, R>, Route<AllReduce<P, R, "far", "near">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Known3<5, 7, P, P, P>, R, R, R>, Route<AllReduce<P, R, "far", "mid", "near">>>);
  STATIC_REQUIRE(count_steps<step::all_reduce, route_to<Known3<64, 64, P, P, P>, R, R, R>>() <= 1);
  // A sum that stays pending is no reduction.
  STATIC_REQUIRE(std::is_same_v<route_to<Known<5, 7, P, P>, R, P>, Route<AllReduce<P, R, "far">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Known<64, 64, P, R>, R, P>, Route<AllReduce<P, R, "far">, Convert<R, P, "near">>>);
  // Shards are gathered behind the sum.
  STATIC_REQUIRE(std::is_same_v<route_to<Known<5, 7, S0, P>, R, R>, Route<AllReduce<P, R, "near">, AllGather<S0, R, "far">>>);
}

TEST_CASE("so are operands and results of calls") {
  using X = Known<4096, 4096, S0, S1>;
  using Halves = Arg<0, ReduceScatter<P, S0, "near">, AllReduce<P, R, "far">, AllGather<S0, R, "near">>;
  STATIC_REQUIRE(std::is_same_v<plan_of<op::exp, Known<64, 64, P, P>>, Plan<Halves, Apply<op::exp>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::dot, To<R, R>, X, X>, Plan<Arg<0>, Arg<1>, Apply<op::dot>, Result<AllReduce<P, R, "far", "near">>>>);
}

// All placements of a matrix by copies, pending sums and shards in all orders.
std::vector<tensor_placement> all_typings(int axes) {
  std::vector<placement_value> kinds = {{placement_kind::replicate}, {placement_kind::partial, monoid::sum}, {placement_kind::partial, monoid::average}};
  for (std::int8_t d = 0; d < 2; ++d)
    for (std::int8_t level = 0; level < axes; ++level) kinds.push_back({placement_kind::shard, monoid::none, d, 0, -1, level});
  std::vector<tensor_placement> out;
  std::vector<std::size_t> at(static_cast<std::size_t>(axes));
  for (;;) {
    tensor_placement t;
    t.axes = static_cast<std::int8_t>(axes);
    t.rank = 2;
    for (int a = 0; a < axes; ++a) t.on[a] = kinds[at[static_cast<std::size_t>(a)]];
    if (canonical(t) == t) out.push_back(t);
    std::size_t n = 0;
    while (n < at.size() && ++at[n] == kinds.size()) at[n++] = 0;
    if (n == at.size()) return out;
  }
}

plan_setting setting(std::vector<int> const& sizes, bool bitwise) {
  plan_setting m;
  m.axes = static_cast<std::int8_t>(sizes.size());
  for (int a = 0; a < m.axes; ++a) m.size[a] = sizes[static_cast<std::size_t>(a)];
  m.wired = two_level(1, {600, 90909}, {2700, 20000});
  m.wired.bitwise_replicated = bitwise;
  m.families = 1;
  m.even[0] = m.stated[0] = true;
  m.plain = 0;
  return m;
}

bool reduces(step m) { return m == step::all_reduce || m == step::reduce_scatter; }
bool copies(step m) { return m == step::all_reduce || m == step::all_gather; }

/// Is nothing reduced behind copies that the plan has made?
bool keeps_bits(step_list const& p) {
  bool made = false;
  for (int k = 0; k < p.size; ++k) {
    if (made && reduces(p.steps[k].how)) return false;
    made = made || copies(p.steps[k].how);
  }
  return true;
}

struct tally {
  int plans = 0, wrong = 0, other = 0, refused = 0;
};
tally compare(std::vector<int> const& sizes, std::int64_t bytes, route_options const& target, std::size_t every) {
  tally c;
  auto const all = all_typings(static_cast<int>(sizes.size()));
  std::size_t n = 0;
  for (auto const& from : all)
    for (auto const& to : all) {
      bool pending = false, mixed = false;
      monoid fold = monoid::none;
      for (int a = 0; a < from.axes; ++a)
        if (from.on[a].kind == placement_kind::partial) {
          mixed = mixed || (pending && fold != from.on[a].fold);
          pending = true;
          fold = from.on[a].fold;
        }
      if (!pending || ++n % every) continue;
      auto const path = [&](bool bitwise) {
        auto r = route_between(from, to, setting(sizes, bitwise), target);
        r.problem.bytes = bytes;
        auto const p = search<1024>(r.problem, r.from, &r.to).path(r.to);
        if (p.reachable() && p.size) c.wrong += (p.steps[p.size - 1].after & ~reductions_over) != r.to;
        return p;
      };
      auto const fast = path(false), kept = path(true);
      ++c.plans;
      c.wrong += kept.reachable() && (!keeps_bits(kept) || kept.cost < fast.cost);
      if (keeps_bits(fast)) c.wrong += kept.cost != fast.cost; // the policy forbids nothing else
      c.other += kept.reachable() && kept.cost > fast.cost;
      c.refused += fast.reachable() && !kept.reachable();
      if (!mixed) c.wrong += fast.reachable() != kept.reachable();
    }
  return c;
}

} // namespace

TEST_CASE("no plan reduces what it has copied, whatever is pending") {
  route_options odd;
  odd.extent = {{5, 7}};
  for (std::int64_t const bytes : {1, 1 << 14, 1 << 26}) {
    auto const even = compare({2, 4}, bytes, {}, 1), avoid_new_even_shards = compare({2, 4}, bytes, {false, true}, 1), cut = compare({2, 4}, bytes, odd, 1);
    CHECK(even.wrong + avoid_new_even_shards.wrong + cut.wrong == 0);
    CHECK(even.plans > 100);
    CHECK(cut.other + avoid_new_even_shards.other > 0);
    CHECK(even.refused == 0);
    CHECK(cut.refused > 0); // a Sum and an Avg of what cannot be sharded
  }
  auto const three = compare({2, 3, 4}, 1 << 14, {}, 31), odd3 = compare({2, 3, 4}, 1 << 14, odd, 31);
  CHECK(three.wrong + odd3.wrong == 0);
  CHECK(three.plans > 100);
}

} // namespace test_plan_bitwise
