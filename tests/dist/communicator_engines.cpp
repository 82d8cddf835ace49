// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine without other ranks, engines that lack capabilities, and the concepts.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

#include "catch.hpp"

namespace test_communicator_engines {

using Catch::Matchers::ContainsSubstring;
using lengths = std::vector<std::size_t>;

static_assert(sla::CanBarrier<sla::self> && sla::CanBroadcast<sla::self> && sla::CanAllReduce<sla::self> &&
              sla::CanAllGather<sla::self> && sla::CanReduceScatter<sla::self> && sla::CanAllToAll<sla::self> &&
              sla::CanExchange<sla::self> && sla::CanSplit<sla::self> && !sla::CanAxis<sla::self>);
static_assert(sla::CanBarrier<sla::fake> && sla::CanBroadcast<sla::fake> && sla::CanAllReduce<sla::fake> &&
              sla::CanAllGather<sla::fake> && sla::CanReduceScatter<sla::fake> && sla::CanAllToAll<sla::fake> &&
              sla::CanExchange<sla::fake> && !sla::CanSplit<sla::fake> && sla::CanAxis<sla::fake>);
static_assert(sla::CanBarrier<sla::threads::world> && sla::CanExchange<sla::threads::world> &&
              sla::CanSplit<sla::threads::world> && sla::CanAllToAll<sla::threads::world>);
static_assert(!sla::Communicator<int>);

TEST_CASE("a fake rank leaves its own part of each result") {
  sla::fake world(8192, 4097);
  auto const c = sla::erase(world);
  CHECK(c->size() == 8192);
  CHECK(c->rank() == 4097);
  CHECK(all_reduce(*c, 2.5) == 2.5);
  c->barrier();

  lengths const n(8192, 2);
  std::vector<int> const mine{4, 5};
  std::vector<int> all(2 * 8192, -1);
  all_gather(*c, std::span<int const>(mine), std::span<int>(all), n);
  std::vector<int> expected(all.size());
  expected[2 * 4097] = 4, expected[2 * 4097 + 1] = 5;
  CHECK(all == expected);

  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int>(k);
  std::vector<int> part(2);
  reduce_scatter(*c, std::span<int const>(all), std::span<int>(part), n);
  CHECK(part == std::vector<int>{2 * 4097, 2 * 4097 + 1});

  std::vector<int> into(all.size(), -1);
  all_to_all(*c, std::span<int const>(all), n, std::span<int>(into), n);
  expected[2 * 4097] = 2 * 4097, expected[2 * 4097 + 1] = 2 * 4097 + 1;
  CHECK(into == expected);

  std::vector<int> values{1, 2};
  broadcast(*c, std::span<int>(values), 0);
  CHECK(values == std::vector<int>{1, 2});
  std::vector<sla::incoming_message> const receives{sla::receive_from(0, std::span<int>(values))};
  auto const e = c->start({}, receives);
  CHECK(e->done());
  e->wait();
  CHECK(values == std::vector<int>{0, 0});
}

TEST_CASE("a fake rank knows its axes without the others") {
  for (int me = 0; me < 24; ++me) {
    sla::fake world(24, me);
    auto const c = sla::erase(world);
    auto const a = c->axis(2, 12), b = c->axis(3, 4), d = c->axis(4, 1);
    CHECK(a->size() == 2);
    CHECK(b->size() == 3);
    CHECK(d->size() == 4);
    CHECK(a->rank() * 12 + b->rank() * 4 + d->rank() == me);
  }
  sla::fake world(4, 0);
  CHECK_THROWS_WITH(sla::erase(world)->split(0, 0), ContainsSubstring("the engine fake has no split"));
  CHECK_THROWS_AS(sla::fake(4, 4), sla::index_error);
  CHECK_THROWS_AS(sla::fake(0, 0), sla::index_error);
}

TEST_CASE("one rank that sends itself another message than it expects") {
  sla::self world;
  auto const c = sla::erase(world);
  std::vector<std::byte> data(8);
  std::vector<sla::outgoing_message> const sends{{0, {data.data(), 8}}};
  std::vector<sla::incoming_message> const receives{{0, {data.data(), 4}}};
  CHECK_THROWS_AS(c->start({}, receives), sla::rank_error);
  CHECK_THROWS_AS(c->start(sends, receives), sla::rank_error);
  std::vector<double> x(2);
  CHECK_THROWS_AS(all_to_all(*c, std::span<double const>(x), lengths{2}, std::span<double>(x).first(1), lengths{1}),
                  sla::rank_error);
}

namespace user {
/// An engine of a user with one capability; it cannot be copied.
struct loner {
  int calls = 0;
  loner() = default;
  loner(loner const&) = delete;
  int size() { return 1; }
  int rank() { return 0; }
  char const* engine() { return "loner"; }
  void all_reduce(sla::byte_span, sla::wire_type, sla::monoid) { ++calls; }
};
using sla::erase;
} // namespace user

TEST_CASE("what an engine lacks is named when it is called") {
  user::loner world;
  auto const c = erase(world);
  CHECK(all_reduce(*c, 3) == 3);
  CHECK(world.calls == 1);
  CHECK(sla::erase(c) == c);
  lengths const one{1};
  double x = 0, y = 0;
  std::span<double> const in(&x, 1), out(&y, 1);
  std::span<double const> const from(in);
  auto const lacks = [](std::string const& what) {
    return ContainsSubstring("the engine loner has no " + what + "; use an engine that has it");
  };
  CHECK_THROWS_WITH(c->barrier(), lacks("barrier"));
  CHECK_THROWS_WITH(broadcast(*c, in), lacks("broadcast"));
  CHECK_THROWS_WITH(all_gather(*c, from, out, one), lacks("all_gather"));
  CHECK_THROWS_WITH(reduce_scatter(*c, from, out, one), lacks("reduce_scatter"));
  CHECK_THROWS_WITH(all_to_all(*c, from, one, out, one), lacks("all_to_all"));
  CHECK_THROWS_WITH(c->start({}, {}), lacks("start"));
  CHECK_THROWS_WITH(c->split(0, 0), lacks("split"));
  CHECK_THROWS_WITH(c->axis(1, 1), lacks("split"));
  CHECK_THROWS_AS(c->barrier(), sla::unavailable_error);
}

TEST_CASE("the monoid of each fold") {
  CHECK(sla::monoid_of<sla::op::plus> == sla::monoid::sum);
  CHECK(sla::monoid_of<sla::op::minimum> == sla::monoid::minimum);
  CHECK(sla::monoid_of<sla::op::maximum> == sla::monoid::maximum);
}
} // namespace test_communicator_engines
