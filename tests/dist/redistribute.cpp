// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans carried out on thread ranks: a walk through the placements of a matrix on two axes, in both orders of the axes;
// plans by size and by extents that divide; uneven shards. What was priced is what is communicated.
#include <string>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/plan/redistribute.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

using namespace sla;
using namespace sla::plans;
using Ranks = mesh<axis<"dp", 2>, axis<"tp", 2>>;
using Local = matrix<double>;
using R = Replicate;
using S0 = Shard<0>;
using S1 = Shard<1>;
using P = Partial<>;

using Wide = mesh<axis<"wide", 2>, axis<"deep", 4>>;
using Far = mesh<axis<"far", 2>, axis<"near", 4>>;

namespace sla {
template <>
inline constexpr topology topology_of<Ranks> = two_level(1);
template <>
inline constexpr topology topology_of<Wide> = two_level(0, {0, 1000}); // any number of steps is worth a byte less
template <>
inline constexpr topology topology_of<Far> = two_level(1, {0, 100000}, {0, 1000});
}

namespace {

using Columns = spec<unsharded, "tp">;  // said by dimensions
using Turned = spec<nested<"tp", "dp">, unsharded>;
using Rows = spec<"dp", unsharded>;

template <class... Q>
using On = distributed<Local, Ranks, Q...>;

template <class...>
struct list {};

/// x in two placements, by distribute and convert alone; pending sums have another summand on each rank.
template <class A, class B>
auto made(Local const& x, Ranks const& m) {
  constexpr bool sum_a = A::kind == placement_kind::partial, sum_b = B::kind == placement_kind::partial;
  auto whole = distribute<std::conditional_t<sum_a, R, A>, std::conditional_t<sum_b, R, B>>(x, m);
  auto first = [&] {
    if constexpr (sum_a)
      return convert<"dp", P>(whole);
    else
      return whole;
  }();
  auto both = [&] {
    if constexpr (sum_b)
      return convert<"tp", P>(first);
    else
      return first;
  }();
  double const offset = (sum_a ? 3.0 - 6.0 * m.coordinate(0) : 0.0) + (sum_b ? 5.0 - 10.0 * m.coordinate(1) : 0.0);
  for (double& value : both.local()) value += offset;
  return both;
}

/// x from placements to placements; what is pending is another summand on each rank. At the end it is whole.
template <class X>
double error_after(X const& y, Local const& x, Ranks const&, list<>) {
  return double(norm(y.local() - x));
}
template <class X, class A, class B, class... Rest>
double error_after(X const& y, Local const& x, Ranks const& m, list<placements<A, B>, Rest...>) {
  auto moved = redistribute<A, B>(y);
  static_assert(has_placements<decltype(moved), A, B>);
  constexpr bool sum_a = A::kind == placement_kind::partial, sum_b = B::kind == placement_kind::partial;
  for (double& value : moved.local()) value += (sum_a ? 3.0 - 6.0 * m.coordinate(0) : 0.0) + (sum_b ? 5.0 - 10.0 * m.coordinate(1) : 0.0);
  return error_after(moved, x, m, list<Rest...>{});
}
using Inner = Shard<0, Even, 1>; // dp inside tp
using Walk = list<placements<Inner, S0>, placements<S1, S0>, placements<R, S1>, placements<P, S1>, placements<P, S0>, placements<S0, S1>,
                  placements<S1, S1>, placements<R, R>, placements<P, P>, placements<S1, S0>, placements<S0, R>, placements<R, R>>;

/// Calls on the axes of dp and tp.
std::string calls(Ranks const& m, collective what) {
  return std::to_string(m.communicator<"dp">().stats().count(what)) + " " + std::to_string(m.communicator<"tp">().stats().count(what));
}
void forget(Ranks const& m) {
  m.communicator<"dp">().reset_stats();
  m.communicator<"tp">().reset_stats();
}

}  // namespace

TEST_CASE("plans bring the numbers where they say, through both orders of the axes and pending sums") {
  auto const wrong = threads::run(4, [](auto& world) {
    Ranks m(world);
    auto const x = random<double, Extents<dyn, dyn>>({8, 12}, 1);
    return error_after(made<S0, S0>(x, m), x, m, Walk{});
  });
  for (double e : wrong) CHECK(e <= 1e-12);
}

TEST_CASE("the plan that was priced is the plan that runs") {
  auto const right = threads::run(4, [](auto& world) {
    Ranks m(world);
    bool all = true;
    for (index_t rows : {8, 7, 400}) {
      auto const x = random<double, Extents<dyn, dyn>>({rows, 200}, 2);
      auto const sums = made<P, P>(x, m);
      forget(m);
      auto const y = redistribute<R, R>(sums);
      all = all && double(norm(y.local() - x)) <= 1e-10;
      // in halves inside the machine; no dimension is cut where it does not divide
      all = all && calls(m, collective::all_reduce) == (rows == 7 ? "1 1" : "1 0");
      all = all && calls(m, collective::reduce_scatter) == (rows == 7 ? "0 0" : "0 1") && calls(m, collective::all_gather) == (rows == 7 ? "0 0" : "0 1");
    }
    using X = decltype(made<S0, S0>(std::declval<Local>(), m));
    static_assert(count_steps<step::all_to_all, route_to<X, R, R>>() == 1);
    for (index_t rows : {8, 400}) {  // few rounds, or few bytes between machines
      auto const x = random<double, Extents<dyn, dyn>>({rows, 200}, 3);
      auto const parts = made<S0, S0>(x, m);
      forget(m);
      auto const y = redistribute<R, R>(parts);
      all = all && double(norm(y.local() - x)) == 0;
      all = all && calls(m, collective::all_to_all) == (rows == 8 ? "0 0" : "0 1") && calls(m, collective::all_gather) == "1 1";
    }
    forget(m);
    auto const same = redistribute<S0, S1>(made<S0, S1>(random<double, Extents<dyn, dyn>>({8, 8}, 4), m));
    return all && calls(m, collective::all_gather) == "0 0" && calls(m, collective::all_to_all) == "0 0" && same.local().extent(0) == 4;
  });
  for (bool r : right) CHECK(r);
}

TEST_CASE("uneven shards, and one axis alone") {
  auto const wrong = threads::run(4, [](auto& world) {
    Ranks m(world);
    auto const x = random<double, Extents<dyn, dyn>>({7, 5}, 5);
    auto const uneven = distribute<Shard<0, Balanced>, Shard<0, Ceil>>(x, m);
    double e = norm(gather(redistribute<Shard<1, Ceil>, R>(uneven)) - x) + norm(redistribute<R, R>(uneven).local() - x);
    e += norm(gather(redistribute<"tp", Shard<1, Ceil>>(uneven)) - x) + norm(gather(redistribute<"tp", R>(uneven)) - x);
    e += norm(gather(redistribute<"tp", Shard<1, Ceil>>(made<R, P>(x, m))) - x);
    // by stated steps
    using Pinned = Route<AllReduce<P, R, "dp">, AllReduce<P, R, "tp">>;
    e += norm(redistribute_by<Pinned>(made<P, P>(x, m)).local() - x);
    // by dimensions: axes that nothing is said of are whole
    auto const even = random<double, Extents<dyn, dyn>>({8, 4}, 6);
    auto const columns = redistribute<Columns>(made<S0, S0>(even, m));
    auto const turned = redistribute<Turned>(made<S0, S0>(even, m));
    static_assert(has_placements<decltype(columns), R, S1> && has_placements<decltype(turned), Inner, S0>);
    e += norm(gather(columns) - even) + norm(gather(turned) - even) + norm(gather(redistribute<Rows, Partial<>>(made<S0, R>(even, m))) - even);
    return e;
  });
  for (double e : wrong) CHECK(e <= 1e-12);
}

TEST_CASE("a family that refuses extents lies on the way only where it lies in the end") {
  auto const wrong = threads::run(8, [](auto& world) {
    Wide m(world);
    auto const x = random<double, Extents<dyn, dyn>>({8, 5}, 6);
    auto const pending = convert<"deep", P>(distribute<R, R>(x, m), expert);
    return double(norm(gather(redistribute<R, Shard<0, sla::Table<1, 2, 3, 2>>>(pending)) - x));
  });
  for (double e : wrong) CHECK(e <= 1e-14);
}

TEST_CASE("where extents do not divide, unequal pieces are not made equal on the way") {
  auto const wrong = threads::run(8, [](auto& world) {
    Far m(world);
    double e = 0;
    for (index_t rows : {6, 8, 12, 16}) {
      auto const x = random<double, Extents<dyn, dyn>>({rows, 5}, 8);
      e += norm(redistribute<R, R>(distribute<S0, Shard<0, Balanced>>(x, m)).local() - x);
      e += norm(redistribute<R, R>(distribute<Shard<0, Balanced>, R>(x, m)).local() - x);
    }
    return e;
  });
  for (double e : wrong) CHECK(e == 0);
}

TEST_CASE("pieces that are equal and interleave are moved one axis at a time") {
  using Six = mesh<axis<"a", 2>, axis<"b", 3>>;
  auto const wrong = threads::run(6, [](auto& world) {
    Six m(world);
    auto const x = random<double, Extents<dyn, dyn>>({7, 12}, 7);
    auto const from = distribute<Shard<1, Strided<3>>, Shard<0, Ceil>>(x, m);
    auto const both = redistribute<Shard<0, Ceil>, Shard<1, Strided<2>>>(from);
    auto const one = redistribute<Shard<1, Strided<3>>, Shard<1, Strided<2>>>(both);
    return double(norm(gather(both) - x)) + double(norm(gather(one) - x)) + double(norm(gather(redistribute<R, Shard<1, Strided<2>>>(one)) - x));
  });
  for (double e : wrong) CHECK(e == 0);
}
