// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules of what dist/ adds to steps on one axis: flattened axes, other orders of shards, plans, steps that do not wait, and
// steps in other numbers, forward and backward.
#include <sla/core/op.hpp>
#include <sla/dist/auto_plan.hpp>
#include <sla/dist/grad.hpp>
#include <sla/dist/grad_pending.hpp>
#include <sla/dist/precision.hpp>
#include <sla/dist/threads.hpp>

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
static_assert(all_of.size() == 1 && all_of[0].bytes == byte_line{bytes} && all_of[0].result == byte_line{8 * bytes});
static_assert(all_of.collectives() == 1 && all_of.collectives(dp) == 1 && all_of.collectives(tp) == 1);
static_assert(all_of.needs(dp, tp) && !all_of.needs(tp, dp) && !all_of.needs(dp) && !all_of.needs(tp));
static_assert(all_of.backward()[0].how() == step::reduce_scatter && all_of.backward()[0].bytes == byte_line{8 * bytes});
static_assert(all_of.backward().backward() == all_of);
static_assert(explain<Grid>(all_of) == "all_gather<flat<\"dp\", \"tp\">> 1024 bytes\n");
constexpr auto there_and_back = [](auto const& x) { return all_gather<flat<"tp", "dp">, Invariant>(all_to_all<flat<"tp", "dp">, Shard<0>>(x)); };
constexpr auto both = schedule<there_and_back, Table<Shard<1, Even, 1>, Shard<1>>>;
static_assert(both.size() == 2 && both[0].result == byte_line{bytes} && both[1].result == byte_line{8 * bytes} && both.needs(tp, dp));
static_assert(both.backward().collectives() == 1 && both.backward()[0].how() == step::convert && both.backward()[1].how() == step::all_to_all);

// ---- another order of shards

constexpr auto exchanged = [](auto const& x) { return permute_shards<"tp", "dp">(x); };
constexpr auto places = schedule<exchanged, Table<Shard<0>, Shard<0>>>;
static_assert(places.size() == 1 && places.count(step::permute_shards) == 1 && places[0].bytes == byte_line{bytes} && places[0].result == byte_line{bytes});
static_assert(places.backward().count(step::permute_shards) == 1 && places.backward().bytes() == bytes);
static_assert(has_placements<decltype(exchanged(std::declval<outline<shape_only<double, Extents<16, 8>>, Grid, Shard<0>, Shard<0>>>())), Shard<0, Even, 1>, Shard<0>>);
constexpr auto as_it_is = [](auto const& x) { return permute_shards<"dp", "tp">(x); };
static_assert(schedule<as_it_is, Table<Shard<0>, Shard<0>>>.collectives() == 0);

// ---- plans: the steps of the schedule are those of the plan's type

constexpr auto to_copies = [](auto const& x) { return redistribute<Replicate, Replicate>(x); };
using Cut = Table<Shard<0>, Shard<0>>;
static_assert(count<plans::motion::all_gather, route_to<Cut, Replicate, Replicate>>() == schedule<to_copies, Cut>.count(step::all_gather));
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
static_assert(in_two_bytes[0].bytes == byte_line{bytes / 4} && in_two_bytes[0].result == byte_line{bytes});
static_assert(in_two_bytes.backward()[0].how() == step::reduce_scatter && in_two_bytes.backward()[0].bytes == byte_line{2 * bytes} &&
              in_two_bytes.backward()[0].result == byte_line{bytes / 2});
static_assert(in_two_bytes.backward().backward() == in_two_bytes);
constexpr auto summed = [](auto const& x) { return reduce_scatter<"tp", Shard<0>>(x, wire<float>{}); };
static_assert(schedule<summed, Pending>[0].bytes == byte_line{bytes / 2} && schedule<summed, Pending>[0].result == byte_line{bytes / 8});
static_assert(std::same_as<decltype(summed(std::declval<outline<shape_only<double, Extents<16, 8>>, Grid, Replicate, Partial<>>>()))::value_type, float>);

/// What f sends along tp, forward and backward, on thread ranks: collectives and exchanges.
template <class F>
auto sent_along_tp(F const& f) {
  return threads::run(8, [&](auto& world) {
    Grid const m(world);
    auto const a = suite::whole_numbers(Extents<dyn, dyn>(16, 8), 1), b = suite::whole_numbers(Extents<dyn, dyn>(16, 8), 2);
    auto const x = distribute<Replicate, Shard<0>>(a, m);
    auto const y = distribute<Replicate, Shard<1>>(b, m);
    auto const before = m.communicator(tp).stats();
    tape t;
    auto const z = f(traced<std::remove_const_t<decltype(x)>>(t, t.input(x)), traced<std::remove_const_t<decltype(y)>>(t, t.input(y)));
    z.variable().add(suite::some_cotangent(z.value(), world.rank()));
    t.sweep();
    auto const after = m.communicator(tp).stats();
    return std::int64_t(after.collectives() + after.exchanges - before.collectives() - before.exchanges);
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
} // namespace test_schedules
