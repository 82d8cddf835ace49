// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans in types are those that searches of all placements find: the compiler's searches go in rounds and stop early. Three axes,
// two families of shards.
#include "catch.hpp"

#include <sla/spmd/plan/plan_set.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/move.hpp>

namespace test_plan_call {
namespace {

using namespace sla;
using namespace sla::plans;

using Mesh = mesh<axis<"pp", 2>, axis<"dp", 2>, axis<"tp", 4>>;
using R = Replicate;
using P = Partial<>;
using S0 = Shard<0>;
using S1 = Shard<1>;
using B0 = Shard<0, Balanced>;
using B1 = Shard<1, Balanced>;

struct product {};
struct times {};
struct regrouped {};
template <int M, int N>
struct wide {
  using value_type = double;
  using extents_type = Extents<M, N>;
};
using Wan = mesh<axis<"wan", 4>>;
struct held {
  using value_type = double;
  using extents_type = Extents<512, 512>;
};
template <class... Q>
using On = distributed<held, Mesh, Q...>;

} // namespace
} // namespace test_plan_call

template <>
inline constexpr sla::op_rule sla::rule_of<test_plan_call::product> = {
    .indices = index_use::matvec, .linear = linearity::separate, .contraction = monoid::sum};
template <>
inline constexpr auto sla::rule_of<test_plan_call::times> = sla::strategies::einsum("mk,kn->mn");
template <>
inline constexpr sla::topology sla::topology_of<test_plan_call::Wan> = sla::two_level(0, {50000, 125});
template <>
inline constexpr auto sla::rule_of<test_plan_call::regrouped> = sla::strategies::reshape(sla::dims(24, 4), sla::dims(4, 24));

namespace test_plan_call {
namespace {

/// By complete searches at run time.
template <class Op, class X, class Y>
bool is_best() {
  using query = call_query<Op, placements<>, X, Y>;
  constexpr auto const& found = best_call_v<query>;
  fixed_array<std::int64_t, max_operands> bytes{};
  for (int k = 0; k < 2; ++k) bytes[k] = query::priced(query::bytes[k]);
  auto const best = plan_operation(query::problem, bytes);
  bool alike = found.cost == best.cost && found.steps == best.steps && found.result == best.result;
  for (int k = 0; k < 2; ++k) alike = alike && found.operand[k] == best.operand[k];
  return alike;
}

} // namespace

TEST_CASE("searches that stop early find the same plan") {
  CHECK(is_best<product, On<S0, B1, R>, On<R, S0, B0>>());
  CHECK(is_best<product, On<P, S0, S1>, On<B0, R, P>>());
  CHECK(is_best<product, On<S0, S0, S0>, On<B0, B0, B0>>());
  CHECK(is_best<product, On<R, R, R>, On<B0, S1, S0>>());
  CHECK(is_best<op::mul, On<P, P, B1>, On<S1, P, S0>>());
}

TEST_CASE("no plan of a call shards what equal pieces do not divide") {
  struct six {
    using value_type = double;
    using extents_type = Extents<6, 6>;
  };
  using X = distributed<six, Mesh, R, P, P>; // two ranks, then four
  using Parts = Arg<0, ReduceScatter<P, S0, "dp">, AllReduce<P, R, "tp">, AllGather<S0, R, "dp">>;
  STATIC_REQUIRE(std::is_same_v<plan_of<op::exp, X>, Plan<Parts, Apply<op::exp>, Result<>>>);
}

TEST_CASE("a table of sizes is taken over along the index and the axis that have it, and nowhere else") {
  struct open {
    using value_type = double;
    using extents_type = Extents<dyn, dyn>;
  };
  using Pair = mesh<axis<"dp", 2>, axis<"tp", 4>>;
  using T0 = Shard<0, Table<3, 5>>;
  using T1 = Shard<1, Table<3, 5>>;
  using Sum = distributed<open, Pair, T0, P>;
  using Whole = distributed<open, Pair, R, R>;
  STATIC_REQUIRE(std::is_same_v<plan_of<op::exp, Sum>, Plan<Arg<0, AllReduce<P, R, "tp">>, Apply<op::exp>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::add, distributed<open, Pair, T0, R>, Whole>,
                                Plan<Arg<0>, Arg<1, Convert<R, T0, "dp">>, Apply<op::add>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<times, Whole, distributed<open, Pair, T0, R>>,
                                Plan<Arg<0, Convert<R, T1, "dp">>, Arg<1>, Apply<times>, Result<>>>);
}

TEST_CASE("of two tensors that slow wires cannot price the smaller one moves") {
  using Small = distributed<wide<2048, 8192>, Wan, S1>;  // 128 MiB
  using Large = distributed<wide<8192, 32768>, Wan, S1>; // 2 GiB
  STATIC_REQUIRE(std::is_same_v<plan_of<times, Small, Large>, Plan<Arg<0, AllGather<S1, R, "wan">>, Arg<1>, Apply<times>, Result<>>>);
}

TEST_CASE("what wants as many equal pieces as divide its extents is called with such") {
  struct table {
    using value_type = double;
    using extents_type = Extents<24, 4>;
  };
  using Pair = mesh<axis<"dp", 2>, axis<"tp", 4>>;
  using Eighths = distributed<table, Pair, S0, S0>; // the leading four of the result in eight pieces
  STATIC_REQUIRE(!well_typed<regrouped, Eighths>);
  using Quarters = Arg<0, PermuteShards<S0, S0, "tp", "dp">, AllGather<Shard<0, Even, 1>, R, "dp">>;
  STATIC_REQUIRE(std::is_same_v<plan_of<regrouped, Eighths>, Plan<Quarters, Apply<regrouped>, Result<>>>);
  using Unequal = distributed<table, Pair, B0, R>;
  STATIC_REQUIRE(!well_typed<regrouped, Unequal>);
  STATIC_REQUIRE(std::is_same_v<plan_of<regrouped, Unequal>, Plan<Arg<0, AllGather<B0, R, "dp">>, Apply<regrouped>, Result<>>>);
  using Halves = distributed<table, Pair, S0, R>;
  STATIC_REQUIRE(well_typed<regrouped, Halves>);
  STATIC_REQUIRE(std::is_same_v<plan_of<regrouped, Halves>, Plan<Arg<0>, Apply<regrouped>, Result<>>>);
}

} // namespace test_plan_call
