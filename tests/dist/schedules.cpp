// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules of what dist/ adds to steps on one axis: flattened axes, other orders of shards, plans, steps that do not wait, and
// steps in other numbers, forward and backward.
#include <sla/core/op.hpp>
#include <sla/dist/plan/auto_plan.hpp>
#include <sla/dist/matrix/reshard_rows.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/step/pending_gradient.hpp>
#include <sla/dist/step/precision_steps.hpp>
#include <sla/dist/step/splits.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_schedules {

using namespace sla;

namespace {
namespace schedules {
using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <class... P>
using Table = dtensor<tensor<double, Extents<16, 8>>, Grid, P...>;  // a rank's part
constexpr int dp = 0, tp = 1, bytes = 16 * 8 * 8;

// ---- several axes as one

constexpr auto gathered = [](auto const& x) { return all_gather<flat<"dp", "tp">>(x); };
constexpr auto all_of = schedule<gathered, Table<Shard<0>, Shard<0>>>;
static_assert(all_of.size() == 1 && all_of[0].bytes == linear_bytes{bytes} && all_of[0].result == linear_bytes{8 * bytes});
static_assert(all_of.collectives() == 1 && all_of.collectives(dp) == 1 && all_of.collectives(tp) == 1);
static_assert(all_of.needs(dp, tp) && !all_of.needs(tp, dp) && !all_of.needs(dp) && !all_of.needs(tp));
static_assert(all_of.backward()[0].how() == step::reduce_scatter && all_of.backward()[0].bytes == linear_bytes{8 * bytes});
static_assert(all_of.backward().backward() == all_of);
static_assert(explain<Grid>(all_of) == "all_gather<flat<\"dp\", \"tp\">> 1024 bytes\n");
constexpr auto there_and_back = [](auto const& x) { return all_gather<flat<"tp", "dp">, Invariant>(all_to_all<flat<"tp", "dp">, Shard<0>>(x)); };
constexpr auto both = schedule<there_and_back, Table<Shard<1, Even, 1>, Shard<1>>>;
static_assert(both.size() == 2 && both[0].result == linear_bytes{bytes} && both[1].result == linear_bytes{8 * bytes} && both.needs(tp, dp));
static_assert(both.backward().collectives() == 1 && both.backward()[0].how() == step::convert && both.backward()[1].how() == step::all_to_all);

// ---- another order of shards

constexpr auto exchanged = [](auto const& x) { return permute_shards<"tp", "dp">(x); };
constexpr auto places = schedule<exchanged, Table<Shard<0>, Shard<0>>>;
static_assert(places.size() == 1 && places.count(step::permute_shards) == 1 && places[0].bytes == linear_bytes{bytes} && places[0].result == linear_bytes{bytes});
static_assert(places.backward().count(step::permute_shards) == 1 && places.backward().bytes() == bytes);
static_assert(has_placements<decltype(exchanged(std::declval<outline<shape_only<double, Extents<16, 8>>, Grid, Shard<0>, Shard<0>>>())), Shard<0, Even, 1>, Shard<0>>);
constexpr auto as_it_is = [](auto const& x) { return permute_shards<"dp", "tp">(x); };
static_assert(schedule<as_it_is, Table<Shard<0>, Shard<0>>>.collectives() == 0);

// ---- plans: the steps of the schedule are those of the plan's type

constexpr auto to_copies = [](auto const& x) { return redistribute<Replicate, Replicate>(x); };
using Cut = Table<Shard<0>, Shard<0>>;
static_assert(count_steps<step::all_gather, route_to<Cut, Replicate, Replicate>>() == schedule<to_copies, Cut>.count(step::all_gather));
static_assert(schedule<to_copies, Cut>.backward().count(step::reduce_scatter) == schedule<to_copies, Cut>.size());
constexpr auto turned = [](auto const& x) { return redistribute<Shard<1>, Replicate>(x); };
using Pending = Table<Replicate, Partial<>>;
constexpr auto turned_steps = schedule<turned, Pending>;
static_assert(turned_steps.collectives(tp) == 1 && turned_steps.count(step::all_reduce) == 1 && turned_steps.backward().count(step::all_reduce) >= 1);
constexpr auto along_one = [](auto const& x) { return redistribute<"tp", Shard<0>>(x); };
static_assert(schedule<along_one, Pending>.count(step::reduce_scatter) == 1 && schedule<along_one, Pending>.backward().count(step::all_gather) == 1);
constexpr auto stated = [](auto const& x) { return redistribute_by<plans::Route<plans::AllReduce<Partial<>, Replicate, "tp">>>(x); };
static_assert(schedule<stated, Pending>.count(step::all_reduce, tp) == 1 && schedule<stated, Pending>.size() == 1);

constexpr auto added = [](auto const& a, auto const& b) { return auto_plan<op::add>(a, b); };
using Rows = Table<Replicate, Shard<0>>;
using Columns = dtensor<tensor<double, Extents<64, 2>>, Grid, Replicate, Shard<1>>;
static_assert(schedule<added, Rows, Rows>.size() == 0);
static_assert(schedule<added, Rows, Columns>.collectives() == 1 && schedule<added, Rows, Columns>.count(step::all_to_all, tp) == 1);
static_assert(schedule<added, Rows, Columns>.backward().count(step::all_to_all, tp) == 1);

// ---- steps that do not wait

constexpr auto overlapped = [](auto const& x, auto const& p) {
  auto later = all_gather<"tp">(x, async);
  [[maybe_unused]] auto sum = all_reduce<"tp">(p);
  auto last = all_to_all<"tp", Shard<1>>(x, async);
  auto product = std::move(later).wait() * all_gather<"tp">(std::move(last).wait());
  return all_reduce<"dp">(reinterpret<"dp", Partial<>>(product, expert));
};
constexpr auto going_on = schedule<overlapped, Rows, Pending>;
static_assert(going_on.count(step::all_gather) == 2 && going_on.count(step::all_to_all) == 1 && going_on.count(step::all_reduce) == 2);
static_assert(going_on[0].how() == step::all_gather && going_on[0].awaited == 3, "waited for when three had begun");
static_assert(going_on[1].how() == step::all_reduce && going_on[1].after == 0 && going_on[1].awaited == scheduled_step::at_once);
static_assert(going_on[2].how() == step::all_to_all && going_on[2].awaited == 3 && going_on[3].after == 3);
static_assert(going_on[4].how() == step::reinterpret);
// back: all_reduce, reinterpret, the gather; then both that were under way begin, before the reduction between them
constexpr auto back = going_on.backward();
static_assert(back.size() == 6 && back[0].how() == step::all_reduce && back[2].how() == step::reduce_scatter);
static_assert(back[3].how() == step::all_to_all && back[3].awaited == 5 && back[4].how() == step::reduce_scatter && back[4].awaited == 6);
static_assert(back[5].how() == step::all_reduce && back[5].awaited == scheduled_step::at_once);
constexpr auto dropped = [](auto const& x) { [[maybe_unused]] auto later = all_gather<"tp">(x, async); };
static_assert(schedule<dropped, Rows>[0].awaited == scheduled_step::never && schedule<dropped, Rows>.backward().size() == 0);
static_assert(explain<Grid>(schedule<dropped, Rows>) == "all_gather<\"tp\"> 1024 bytes, under way\n");

// ---- steps in other numbers

constexpr auto narrow = [](auto const& x) { return all_gather<"tp">(x, wire<bfloat16>{}, out<float>{}, bwd<wire<float>>{}); };
constexpr auto in_two_bytes = schedule<narrow, Rows>;
static_assert(in_two_bytes[0].bytes == linear_bytes{bytes / 4} && in_two_bytes[0].result == linear_bytes{bytes});
static_assert(in_two_bytes.backward()[0].how() == step::reduce_scatter && in_two_bytes.backward()[0].bytes == linear_bytes{2 * bytes} &&
              in_two_bytes.backward()[0].result == linear_bytes{bytes / 2});
static_assert(in_two_bytes.backward().backward() == in_two_bytes);
constexpr auto summed = [](auto const& x) { return reduce_scatter<"tp", Shard<0>>(x, wire<float>{}); };
static_assert(schedule<summed, Pending>[0].bytes == linear_bytes{bytes / 2} && schedule<summed, Pending>[0].result == linear_bytes{bytes / 8});
static_assert(std::same_as<decltype(summed(std::declval<outline<shape_only<double, Extents<16, 8>>, Grid, Replicate, Partial<>>>()))::value_type, float>);

// ---- stacks: values of a Varying side by side along a new dimension, and back

template <auto F, class X>
using made_by = typename decltype(F(std::declval<typename detail::outline_of<X>::type>()))::local_type;
using Own = Table<Replicate, Varying>;
constexpr auto stacked = [](auto const& x) { return all_gather<"tp">(x); };
constexpr auto stacked_inside = [](auto const& x) { return all_gather<"tp", Replicate, 1>(x); };
static_assert(std::same_as<made_by<stacked, Own>, shape_only<double, Extents<4, 16, 8>>>);
static_assert(std::same_as<made_by<stacked_inside, Own>, shape_only<double, Extents<16, 4, 8>>>);
constexpr auto stack = schedule<stacked, Own>;
static_assert(stack.size() == 1 && stack[0].bytes == linear_bytes{bytes} && stack[0].result == linear_bytes{4 * bytes} && stack == schedule<stacked_inside, Own>);
static_assert(stack.backward()[0].how() == step::reduce_scatter && stack.backward()[0].bytes == linear_bytes{4 * bytes} && stack.backward().backward() == stack);
constexpr auto folded = [](auto const& x) { return reduce_scatter<"tp", Varying, 1>(x); };
using Sums = dtensor<tensor<double, Extents<16, 4, 8>>, Grid, Replicate, Partial<>>;
static_assert(std::same_as<made_by<folded, Sums>, shape_only<double, Extents<16, 8>>>);
static_assert(schedule<folded, Sums>[0].bytes == linear_bytes{4 * bytes} && schedule<folded, Sums>.backward()[0].how() == step::all_gather);
constexpr auto padded_and_summed = [](auto const& x) { return all_reduce<"tp">(convert<"tp", Partial<>, 1>(x, expert)); };
static_assert(std::same_as<made_by<padded_and_summed, Own>, shape_only<double, Extents<16, 4, 8>>>);
static_assert(schedule<padded_and_summed, Own>.collectives() == 1 && schedule<padded_and_summed, Own>.bytes() == 4 * bytes);
constexpr auto mine_of_all = [](auto const& x) { return all_gather<"tp">(convert<"tp", Varying>(x)); };
using Copies = dtensor<tensor<double, Extents<4, 8>>, Grid, Replicate, Replicate>;
static_assert(std::same_as<made_by<mine_of_all, Copies>, shape_only<double, Extents<4, 8>>>);
static_assert(schedule<mine_of_all, Copies>.bytes() == 8 * 8 && schedule<mine_of_all, Copies>.backward().bytes() == 4 * 8 * 8);
constexpr auto numbers = [](auto const& x) { return all_gather<"tp">(sum(x)); };
static_assert(std::same_as<made_by<numbers, Own>, shape_only<double, Extents<4>>> && schedule<numbers, Own>.bytes() == 8);
constexpr auto kept = [](auto const& x) { return reinterpret<"tp", Varying>(x, expert); };
static_assert(std::same_as<made_by<kept, Copies>, shape_only<double, Extents<4, 8>>>, "what a rank holds stays");
constexpr auto in_floats = [](auto const& x) { return all_gather<"tp", Replicate, 1>(x, wire<float>{}); };
static_assert(schedule<in_floats, Own>[0].result == linear_bytes{2 * bytes} && schedule<in_floats, Own>.backward()[0].how() == step::reduce_scatter);

// ---- uneven pieces: those of families, and rows that tables give away

constexpr auto sharded = [](auto const& x) { return reduce_scatter<"tp", Shard<0, sla::Table<1, 5, 7, 3>>>(x); };
constexpr auto to_table = schedule<sharded, Pending>;
static_assert(to_table[0].bytes == linear_bytes{bytes} && to_table[0].result == linear_bytes{0, 8 * 8}, "ranks get different numbers of rows");
static_assert(to_table.backward()[0].bytes == linear_bytes{0, 8 * 8} && to_table.backward()[0].result == linear_bytes{bytes});
constexpr auto balanced = [](auto const& x) { return reduce_scatter<"tp", Shard<0, Balanced>>(x); };
static_assert(schedule<balanced, Pending>[0].result == linear_bytes{bytes / 4}, "16 rows are 4 for each of 4");
constexpr auto whole_again = [](auto const& x) { return all_gather<"tp">(x); };
static_assert(schedule<whole_again, Table<Replicate, Shard<0, Balanced>>>[0].result == linear_bytes{0, 8 * 8}, "16 rows here may be 15 elsewhere");

constexpr auto routed = [](auto const& x, splits const& tables) {
  auto there = all_to_all<"tp", Varying>(x, tables);
  return all_to_all<"tp", Varying>(there + there, splits{tables.receive, tables.send});
};
constexpr auto routed_somehow = [](auto const& x) { return routed(x, splits{}); };
constexpr auto there_and_home = schedule<routed_somehow, Own>;
static_assert(there_and_home.size() == 2 && there_and_home.count(step::all_to_all, tp) == 2);
static_assert(there_and_home[0].bytes == linear_bytes{bytes} && there_and_home[0].result == linear_bytes{0, 8 * 8} && there_and_home[1].bytes == linear_bytes{0, 8 * 8});
static_assert(there_and_home.backward().count(step::all_to_all, tp) == 2 && there_and_home.backward()[1].result == linear_bytes{bytes});
static_assert(there_and_home.is_differentiable());

// ---- sparse rows on other owners: an entry's values and its place, a row and a column

using New = SparseShard<0, Part<"new">>;
template <class S>
using Sparse = dsparse_tensor<sparse_tensor<double, S>, Grid, Replicate, SparseShard<0>>;
using Blocks = Shape<Batch<3>, dyn, dyn, Block<2, 2>>;
constexpr auto moved = [](auto const& d, auto const& like) { return repartition<"tp", New>(d, like.row_layout()); };
constexpr auto moved_product = [](auto const& d, auto const& x) { return repartition<"tp", New>(d, equal_rows{}) * repartition<"tp", Shard<0, Part<"new">>>(x, d.row_layout()); };
constexpr auto rows_moved = schedule<moved, Sparse<Matrix>, Sparse<Matrix>>;
static_assert(rows_moved.size() == 1 && rows_moved.count(step::repartition, tp) == 1 && rows_moved.bytes(10) == 10 * (8 + 16));
static_assert(rows_moved.backward().count(step::repartition, tp) == 1 && rows_moved.backward().bytes(10) == rows_moved.bytes(10));
static_assert(schedule<moved, Sparse<Blocks>, Sparse<Matrix>>.bytes(10) == 10 * (3 * 4 * 8 + 16));
constexpr auto product_moved = schedule<moved_product, Sparse<Matrix>, dtensor<vector<double>, Grid, Replicate, Shard<0, Part<>>>>;
static_assert(product_moved.count(step::repartition) == 2 && product_moved.count(step::halo_exchange) == 1 && product_moved.backward().count(step::repartition) == 2);

/// What f(traced x...) and its gradient send along tp, by `counted(stats)`.
template <class F, class Counted, class... X>
std::int64_t sent_along_tp(Grid const& m, F const& f, Counted const& counted, X const&... x) {
  auto const before = counted(m.communicator(tp).stats());
  tape t;
  auto const z = f(traced<X>(t, t.input(x))...);
  z.variable().add(suite::some_cotangent(z.value(), m.world().rank()));
  t.sweep();
  return std::int64_t(counted(m.communicator(tp).stats())) - std::int64_t(before);
}
/// The same on thread ranks, of rows and columns: collectives and exchanges.
template <class F>
auto sent_along_tp(F const& f) {
  return threads::run(8, [&](auto& world) {
    Grid const m(world);
    auto const a = suite::whole_numbers(Extents<dyn, dyn>(16, 8), 1), b = suite::whole_numbers(Extents<dyn, dyn>(16, 8), 2);
    return sent_along_tp(m, f, [](auto const& s) { return s.collectives() + s.exchanges; }, distribute<Replicate, Shard<0>>(a, m),
                         distribute<Replicate, Shard<1>>(b, m));
  });
}
}  // namespace schedules
}  // namespace

TEST_CASE("ranks send what the schedule says, forward and backward") {
  using namespace schedules;
  constexpr auto planned = schedule<added, Rows, Columns>;
  for (auto const n : sent_along_tp(added)) CHECK(n == planned.collectives(tp) + planned.backward().collectives(tp));
  constexpr auto later = [](auto const& a, auto const& b) {
    auto whole = all_gather<"tp">(b, async);
    auto other = all_gather<"tp">(a, async);
    return std::move(other).wait() * std::move(whole).wait();
  };
  constexpr auto two = schedule<later, Rows, Columns>;
  static_assert(two.collectives(tp) == 2 && two.backward().collectives(tp) == 2);
  for (auto const n : sent_along_tp(later)) CHECK(n == two.collectives(tp) + two.backward().collectives(tp));
}

TEST_CASE("ranks stack values and give rows away as the schedule says, forward and backward") {
  using namespace schedules;
  auto const sent = threads::run(8, [](auto& world) {
    Grid const m(world);
    auto const x = suite::placed_as<tensor<double, Extents<dyn, dyn>>, Grid, Replicate, Varying>(suite::whole_numbers(Extents<dyn, dyn>(16, 8), world.rank()), m);
    constexpr auto both = [](auto const& v) { return reduce_scatter<"tp", Varying, 1>(reinterpret<"tp", Partial<>>(all_gather<"tp", Replicate, 1>(v), expert)); };
    auto const collectives = [](auto const& s) { return s.collectives() + s.exchanges; };
    auto const exchanges = [](auto const& s) { return s.count(collective::all_to_all); };
    splits const tables{{2, 0, 9, 5}, {}};
    splits known = tables;
    int const me = m.coordinate(tp);
    for (int r = 0; r < 4; ++r) known.receive.push_back(tables.send[std::size_t(me)]);
    auto const routed_by = [&](auto const& v) { return routed(v, known); };
    constexpr auto planned = schedule<both, Own>;
    bool const stacks = sent_along_tp(m, both, collectives, x) == planned.collectives(tp) + planned.backward().collectives(tp);
    bool const tabled = sent_along_tp(m, routed_by, exchanges, x) == there_and_home.collectives(tp) + there_and_home.backward().collectives(tp);
    return stacks && tabled;
  });
  for (bool const as_planned : sent) CHECK(as_planned);
}
} // namespace test_schedules
