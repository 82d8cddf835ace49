// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans as types: golden plans, their words, what they count, their gradients, and the sizes from which they hold.
#include <string>

#include "catch.hpp"

#include <sla/spmd/plan/explain_plan.hpp>

namespace test_plan {

using namespace sla;
using namespace sla::plans;

namespace {

using Node = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using Open = mesh<axis<"rows">>;
using Slow = mesh<axis<"dp", 2>, axis<"wan", 3>>;
using Deep = mesh<axis<"pp", 2>, axis<"dp", 2>, axis<"tp", 4>>;

// What a rank holds, as far as planning sees it.
template <index_t... E>
struct held {
  using value_type = double;
  using extents_type = Extents<E...>;
};
template <class... P>
using Unknown = distributed<held<dyn, dyn>, Node, P...>; // extents that only the run knows
template <index_t M, index_t N, class... P>
using Known = distributed<held<M, N>, Node, P...>;
using R = Replicate;
using S0 = Shard<0>;
using S1 = Shard<1>;
using P = Partial<>;

} // namespace
} // namespace test_plan

namespace sla {
template <>
inline constexpr topology topology_of<test_plan::Node> = two_level(1, {600, 90909}, {2700, 20000});
template <>
inline constexpr topology topology_of<test_plan::Slow> = two_level(0, {50000, 1}); // the slowest wires that are priced
template <>
inline constexpr topology topology_of<test_plan::Deep> = two_level(2, {600, 90909}, {2700, 20000});
} // namespace sla

namespace test_plan {

TEST_CASE("one step where one step does it") {
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, S0>, R, R>, Route<AllGather<S0, R, "tp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, S0>, R, S1>, Route<AllToAll<S0, S1, "tp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, P>, R, S1>, Route<ReduceScatter<P, S1, "tp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, R>, S0, S1>, Route<Convert<R, S0, "dp">, Convert<R, S1, "tp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, R>, R, P>, Route<Convert<R, P, "tp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<S0, P>, S0, P>, Route<>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<Invariant, S1>, R, S1>, Route<Convert<Invariant, R, "dp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, P>, R, Invariant>, Route<AllReduce<P, Invariant, "tp">>>);
  // another order of the axes that shard one dimension: each rank sends its part to one other
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<S0, S0>, Shard<0, Even, 1>, S0>, Route<PermuteShards<S0, S0, "tp", "dp">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<R, S0>, R, Shard<0, Balanced>>, Route<Repartition<S0, Shard<0, Balanced>, "tp">>>);
}

TEST_CASE("what has no plan is said to have none") {
  STATIC_REQUIRE(Redistributable<Unknown<S0, S0>, R, R>);
  STATIC_REQUIRE(!Redistributable<Unknown<S0, S0>, R, P>);               // a pending sum of what was sharded
  STATIC_REQUIRE(!Redistributable<Unknown<R, P>, R, Partial<Max>>);      // another reduction
  STATIC_REQUIRE(!Redistributable<Unknown<R, Varying>, R, R>);           // no parts of one tensor
  STATIC_REQUIRE(Redistributable<Unknown<S0, Varying>, R, Varying>);     // which stays as it is
  STATIC_REQUIRE(!Redistributable<Unknown<R, R>, Invariant, R>);         // the tag expert insists
  STATIC_REQUIRE(!Redistributable<Unknown<R, R>, R, Shard<0, Part<>>>);  // a partition that a layout has
  STATIC_REQUIRE(Redistributable<Unknown<R, Shard<0, Part<>>>, R, S1>);
  STATIC_REQUIRE(!Redistributable<Known<6, 8, R, R>, Shard<1, Balanced>, S0>); // six rows in four equal pieces, by another family first too
  STATIC_REQUIRE(!Redistributable<Unknown<R, R>, R>);                    // a placement for each axis
}

TEST_CASE("the size of the tensor decides between few rounds and few bytes") {
  // Over the slow axis goes the whole tensor, or a quarter of it on each of four ranks side by side.
  using Gather = Route<AllGather<S0, R, "tp">, AllGather<S0, R, "dp">>;
  using Swap = Route<AllToAll<S0, S1, "tp">, AllGather<S0, R, "dp">, AllGather<S1, R, "tp">>;
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<S0, S0>, R, R>, Envelope<Piece<0, Gather>, Piece<132414, Swap>, Indivisible<Gather>>>);
  // Sizes in the type decide at once; where three columns cannot be sharded, parts change places first.
  STATIC_REQUIRE(std::is_same_v<route_to<Known<8, 64, S0, S0>, R, R>, Gather>);
  STATIC_REQUIRE(std::is_same_v<route_to<Known<128, 1024, S0, S0>, R, R>, Swap>);
  using Turn = Route<PermuteShards<S0, S0, "tp", "dp">, AllGather<Shard<0, Even, 1>, R, "dp">, AllGather<S0, R, "tp">>;
  STATIC_REQUIRE(std::is_same_v<route_to<Known<65536, 3, S0, S0>, R, R>, Turn>);
}

TEST_CASE("the slowest wires are priced within 64 bits, whatever the size") {
  STATIC_REQUIRE(count_steps<step::all_gather, route_to<distributed<held<dyn, dyn>, Slow, S0, S0>, R, R>>() >= 1);
  STATIC_REQUIRE(count_steps<step::reduce_scatter, route_to<distributed<held<200000, 300000>, Slow, R, P>, R, R>>() == 1);
  STATIC_REQUIRE(count_steps<step::reduce_scatter, plan_of<op::add, distributed<held<dyn, dyn>, Slow, S0, R>, distributed<held<dyn, dyn>, Slow, P, S1>>>() == 1);
  constexpr auto wan = topology_of<Slow>.along[0];
  STATIC_REQUIRE(price_of(step::all_reduce, wan, 64, 1).at(largest_priced) > price_of(step::all_reduce, wan, 64, 1).at(1 << 20));
  for (std::int64_t const bytes : {std::int64_t{1} << 10, std::int64_t{1} << 19, priced_bytes(largest_priced, topology_of<Slow>)}) {
    auto const cost = price_of(step::all_reduce, wan, 64, 1);
    CHECK(static_cast<double>(cost.at(bytes)) == Approx(static_cast<double>(cost.fixed) * 65536 + static_cast<double>(cost.per_byte) * static_cast<double>(bytes)));
  }
  CHECK(priced_bytes(largest_priced, {}) == largest_priced);
}

TEST_CASE("a reduction over near and far ranks is done in halves") {
  using Halves = Route<ReduceScatter<P, S0, "tp">, AllReduce<P, R, "dp">, AllGather<S0, R, "tp">>;
  using Plain = Route<AllReduce<P, R, "tp">, AllReduce<P, R, "dp">>;
  STATIC_REQUIRE(std::is_same_v<route_to<Unknown<P, P>, R, R>, Envelope<Piece<0, Halves>, Indivisible<Plain>>>);
  STATIC_REQUIRE(count_steps<step::all_reduce, route_to<Known<64, 64, P, P>, R, R>>() == 1);
  STATIC_REQUIRE(count_steps<step::all_reduce, route_to<Known<5, 7, P, P>, R, R>>() == 2);
  STATIC_REQUIRE(count_steps<step::reduce_scatter, route_to<Unknown<P, P>, R, R>>() == 1);
}

TEST_CASE("where the size of the mesh is unknown the kinds of steps decide") {
  using X = distributed<held<dyn, dyn>, Open, S0>;
  STATIC_REQUIRE(std::is_same_v<route_to<X, S1>, Route<AllToAll<S0, S1, "rows">>>);
  STATIC_REQUIRE(std::is_same_v<route_to<distributed<held<dyn>, Open, P>, R>, Route<AllReduce<P, R, "rows">>>);
}

namespace {

/// At the first size of a piece and one byte before it, no other plan is cheaper; the pieces are not one too many.
template <class X, class... To>
int pieces_are_right() {
  using query = route_query<X, placements<To...>, false>;
  auto const& pieces = pieces_v<query>;
  auto const route = query::route(false);
  auto const best = [&](std::int64_t bytes) {
    auto g = route.problem;
    g.bytes = bytes;
    return search<1024>(g, route.from, &route.to).path(route.to).cost;
  };
  auto const cost = [&](int n, std::int64_t bytes) { return line_of(route.problem, pieces.path[n]).at(bytes); };
  for (int n = 0; n < pieces.size; ++n) {
    std::int64_t const first = n ? pieces.from[n] : 1;
    std::int64_t const end = n + 1 < pieces.size ? pieces.from[n + 1] : largest_priced + 1;
    for (std::int64_t const bytes : {first, first + 1, (first + end) / 2, end - 1}) CHECK(cost(n, bytes) == best(bytes));
    if (n) CHECK(cost(n - 1, first) > best(first));
    if (n) CHECK(cost(n, first - 1) >= best(first - 1));
  }
  return pieces.size;
}

template <class... Q>
using On3 = distributed<held<dyn, dyn>, Deep, Q...>;

} // namespace

TEST_CASE("every piece of an envelope is best from its first byte to its last") {
  CHECK(pieces_are_right<Unknown<S0, S0>, R, R>() == 2);
  CHECK(pieces_are_right<Unknown<P, P>, R, R>() == 1);
  CHECK(pieces_are_right<Unknown<S0, S0>, S1, R>() >= 1);
  CHECK(pieces_are_right<Unknown<P, S1>, S0, R>() >= 1);
  CHECK(pieces_are_right<On3<S0, S0, P>, R, Shard<1, Even, 1>, S1>() == 1);
  CHECK(pieces_are_right<On3<S0, S0, S0>, R, R, R>() >= 2);
}

TEST_CASE("plans of calls are types that a program can expect") {
  using A = Unknown<S0, S0>;
  using B = Unknown<R, S1>;
  STATIC_REQUIRE(std::is_same_v<plan_of<op::add, A, A>, Plan<Arg<0>, Arg<1>, Apply<op::add>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::add, A, B>,
                                Plan<Arg<0>, Arg<1, Convert<R, S0, "dp">, AllToAll<S1, S0, "tp">>, Apply<op::add>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::mul, Unknown<P, P>, Unknown<R, P>>,
                                Plan<Arg<0>, Arg<1, AllReduce<P, R, "tp">>, Apply<op::mul>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::exp, Unknown<R, P>>, Plan<Arg<0, AllReduce<P, R, "tp">>, Apply<op::exp>, Result<>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::dot, To<R, R>, A, A>, Plan<Arg<0>, Arg<1>, Apply<op::dot>, Result<AllReduce<P, R, "tp">, AllReduce<P, R, "dp">>>>);
  STATIC_REQUIRE(std::is_same_v<plan_of<op::add, To<R, S0>, Unknown<R, R>, Unknown<R, R>>,
                                Plan<Arg<0>, Arg<1>, Apply<op::add>, Result<Convert<R, S0, "tp">>>>);
  STATIC_REQUIRE(count_steps<step::all_to_all, plan_of<op::add, A, B>>() == 1);
  STATIC_REQUIRE(Plannable<op::add, A, B>);
  STATIC_REQUIRE(!Plannable<op::exp, Unknown<R, GhostP<0>>>);
  STATIC_REQUIRE(!Plannable<op::add, A, distributed<held<dyn, dyn>, Open, S0>>); // on another mesh
  STATIC_REQUIRE(!Plannable<op::add, double, double>);
}

TEST_CASE("plans in words") {
  CHECK(std::string(explain_route<Unknown<S0, S0>, R, R>()) ==
        "{dp: Shard<0>, tp: Shard<0>}\n"
        "below 132414 bytes:\n"
        "  AllGather<\"tp\"> to {dp: Shard<0>, tp: Replicate}, 1800 ns + 4125 fs/B, backward ReduceScatter<\"tp\">\n"
        "  AllGather<\"dp\"> to {dp: Replicate, tp: Replicate}, 2700 ns + 25000 fs/B, backward ReduceScatter<\"dp\">\n"
        "from 132414 bytes:\n"
        "  AllToAll<\"tp\"> to {dp: Shard<0>, tp: Shard<1>}, 1800 ns + 1031 fs/B, backward AllToAll<\"tp\">\n"
        "  AllGather<\"dp\"> to {dp: Replicate, tp: Shard<1>}, 2700 ns + 6250 fs/B, backward ReduceScatter<\"dp\">\n"
        "  AllGather<\"tp\"> to {dp: Replicate, tp: Replicate}, 1800 ns + 8250 fs/B, backward ReduceScatter<\"tp\">\n"
        "where extents do not divide:\n"
        "  AllGather<\"tp\"> to {dp: Shard<0>, tp: Replicate}, 1800 ns + 4125 fs/B, backward ReduceScatter<\"tp\">\n"
        "  AllGather<\"dp\"> to {dp: Replicate, tp: Replicate}, 2700 ns + 25000 fs/B, backward ReduceScatter<\"dp\">\n");
  CHECK(std::string(explain_plan<op::add, Unknown<S0, S0>, Unknown<R, S1>>()) ==
        "operand 0 as it is\n"
        "operand 1 {dp: Replicate, tp: Shard<1>}\n"
        "  Convert<\"dp\"> to {dp: Shard<0>, tp: Shard<1>}, 1 ns + 0 fs/B, backward Convert<\"dp\">\n"
        "  AllToAll<\"tp\"> to {dp: Shard<0>, tp: Shard<0>}, 1800 ns + 1031 fs/B, backward AllToAll<\"tp\">\n"
        "add {dp: Shard<0>, tp: Shard<0>}\n");
}

TEST_CASE("the gradient goes back by the duals in reverse order") {
  using query = route_query<Unknown<P, S0>, placements<S0, S1>, false>;
  using forward = route_type<query, piece_path<query, 0>>;
  using backward = adjoint_route<query, 0>;
  STATIC_REQUIRE(std::is_same_v<forward, Route<AllToAll<S0, S1, "tp">, ReduceScatter<P, S0, "dp">>>);
  STATIC_REQUIRE(std::is_same_v<backward, Route<AllGather<S0, R, "dp">, AllToAll<S1, S0, "tp">>>);
  using cut = route_query<Unknown<R, Invariant>, placements<S0, S1>, false>;
  STATIC_REQUIRE(std::is_same_v<adjoint_route<cut, 0>, Route<AllGather<S1, Invariant, "tp">, Convert<S0, P, "dp">>>);
  using turned = route_query<Unknown<S0, S0>, placements<Shard<0, Even, 1>, S0>, false>;
  STATIC_REQUIRE(std::is_same_v<adjoint_route<turned, 0>, Route<PermuteShards<S0, S0, "dp", "tp">>>);
}

} // namespace test_plan
