// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread ranks that throw, return early, disagree, deadlock, or are late: every rank gets an error that names one.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sla/dist/value/distributed.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

#include "catch.hpp"

namespace test_communicator_failures {

using Catch::Matchers::ContainsSubstring;
using sla::any_communicator;
using namespace std::chrono_literals;

namespace {

struct outcome {
  int named = -1;
  std::string message, nested;
  std::vector<std::string> seen; // by each rank
  double seconds = 0;
};

/// Runs f on the ranks and collects what each of them was told.
outcome failure_of(int ranks, sla::threads::options const& o, std::function<void(any_communicator&)> const& f) {
  outcome out;
  out.seen.resize(static_cast<std::size_t>(ranks));
  auto const begin = std::chrono::steady_clock::now();
  try {
    sla::threads::run(ranks, o, [&](auto& world) {
      auto const c = erase(world);
      try {
        f(*c);
      } catch (std::exception const& e) {
        out.seen[static_cast<std::size_t>(world.rank())] = e.what();
        throw;
      }
    });
  } catch (sla::rank_error const& e) {
    out.named = e.rank();
    out.message = e.what();
    try {
      std::rethrow_if_nested(e);
    } catch (std::exception const& inner) {
      out.nested = inner.what();
    } catch (int) {
      out.nested = "an int";
    }
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

void wait_for_all(any_communicator& c) { c.barrier(); }
void wait_for_message(any_communicator& c) {
  std::byte b{};
  std::vector<sla::incoming_message> const receives{{2 % c.size(), {&b, 1}}};
  c.start({}, receives)->wait();
}

} // namespace

TEST_CASE("a rank that throws ends the others, wherever they wait") {
  auto const pending = GENERATE(&wait_for_all, &wait_for_message);
  int const ranks = GENERATE(3, 4, 8);
  auto const out = failure_of(ranks, {}, [&](any_communicator& c) {
    if (c.rank() == 2) throw std::runtime_error("the disk is full");
    pending(c);
    throw std::logic_error("this rank went on");
  });
  CHECK(out.named == 2);
  CHECK(out.message == "rank 2 failed: the disk is full");
  CHECK(out.nested == "the disk is full");
  for (std::size_t r = 0; r < out.seen.size(); ++r)
    CHECK(out.seen[r] == (r == 2 ? "the disk is full" : "rank 2 failed: the disk is full"));
  CHECK(out.seconds < 2);
}

TEST_CASE("a rank that throws ends ranks that are busy, in parts of the world, or catch the error") {
  auto const out = failure_of(4, {}, [](any_communicator& c) {
    auto const pair = c.split(c.rank() / 2, 0);
    if (c.rank() == 3) throw 42;
    try {
      while (true) all_reduce(*pair, 1.0); // ranks 0 and 1 have each other
    } catch (sla::rank_error const&) {
    }
    c.barrier(); // the next call throws as well
  });
  CHECK(out.named == 3);
  CHECK(out.nested == "an int");
  CHECK_THAT(out.message, ContainsSubstring("rank 3 failed"));
  for (std::size_t r = 0; r < 3; ++r) CHECK_THAT(out.seen[r], ContainsSubstring("rank 3 failed"));
}

TEST_CASE("an error of one rank that the others are told names it once, whoever is the first to end") {
  auto const told = [](std::string const& words) {
    return failure_of(4, {}, [&](any_communicator& c) {
      try {
        sla::detail::together(c, [&] { return c.rank() == 1 ? throw sla::value_error(words) : 0; });
      } catch (sla::value_error const&) {
        std::this_thread::sleep_for(100ms); // the others end before it
        throw;
      }
    });
  };
  auto const plain = told("the list is empty");
  CHECK(plain.named == 1);
  CHECK(plain.message == "rank 1 failed: the list is empty");
  for (std::size_t r = 0; r < 4; ++r) CHECK(plain.seen[r] == (r == 1 ? "the list is empty" : "rank 1 failed: the list is empty"));
  CHECK(told("rank 1: triplet 3: no such row").message == "rank 1: triplet 3: no such row");
  CHECK(told("rank 1 of 2 is too small").message == "rank 1 failed: rank 1 of 2 is too small");
  CHECK(told("11 equations on rank 11: none").message == "rank 1 failed: 11 equations on rank 11: none");
}

TEST_CASE("an error of the program's own, whose words begin like those of another rank, is its thrower's") {
  auto const out = failure_of(4, {}, [](any_communicator& c) {
    if (c.rank() == 1) throw std::runtime_error("rank 2: an entry of my list");
    c.barrier();
  });
  CHECK(out.named == 1);
  CHECK(out.message == "rank 1 failed: rank 2: an entry of my list");
}

TEST_CASE("an error that all ranks throw alike names one of them") {
  auto const out = failure_of(3, {}, [](any_communicator&) { throw sla::shape_error("bad sizes"); });
  CHECK(out.named >= 0);
  CHECK(out.nested == "bad sizes");
}

TEST_CASE("calls that differ are named, on every rank") {
  struct row {
    std::function<void(any_communicator&)> wrong; // rank 1 does this
    char const* called;
    std::function<void(any_communicator&)> right;
    char const* others;
  };
  static std::vector<double> x(100);
  static std::vector<std::size_t> const ones(3, 1), uneven{1, 2, 1};
  auto const sum = [](any_communicator& c) { all_reduce(c, std::span<double>(x).first(2)); };
  std::vector<row> const table{
      {[](any_communicator& c) { c.barrier(); }, "rank 1 called barrier", sum,
       "rank 0 called all_reduce(sum, 2 x float64)"},
      {[](any_communicator& c) { all_reduce(c, std::span<double>(x)); }, "rank 1 called all_reduce(sum, 100 x float64)",
       sum, "rank 0 called all_reduce(sum, 2 x float64)"},
      {[](any_communicator& c) {
         std::vector<float> y(2);
         all_reduce(c, std::span<float>(y));
       },
       "all_reduce(sum, 2 x float32)", sum, "2 x float64"},
      {[](any_communicator& c) { all_reduce(c, 1.0, sla::monoid::maximum); },
       "rank 1 called all_reduce(maximum, 1 x float64)",
       [](any_communicator& c) { all_reduce(c, 1.0, sla::monoid::minimum); },
       "rank 0 called all_reduce(minimum, 1 x float64)"},
      {[](any_communicator& c) { broadcast(c, std::span<double>(x), 1); }, "broadcast(root 1, 100 x float64)",
       [](any_communicator& c) { broadcast(c, std::span<double>(x), 0); }, "broadcast(root 0, 100 x float64)"},
      {[](any_communicator& c) {
         std::vector<double> mine(2), all(4);
         all_gather(c, std::span<double const>(mine), std::span<double>(all), uneven);
       },
       "rank 1 called all_gather(1+2+1 x float64)",
       [](any_communicator& c) {
         std::vector<double> mine(1), all(3);
         all_gather(c, std::span<double const>(mine), std::span<double>(all), ones);
       },
       "rank 0 called all_gather(1+1+1 x float64)"},
      {[](any_communicator& c) {
         std::vector<double> a(4), b(3);
         all_to_all(c, std::span<double const>(a), uneven, std::span<double>(b), ones);
       },
       "all_to_all: rank 1 sends 2 elements to rank 1, which expects 1",
       [](any_communicator& c) {
         std::vector<double> a(3), b(3);
         all_to_all(c, std::span<double const>(a), ones, std::span<double>(b), ones);
       },
       ""},
      {[](any_communicator& c) { c.split(0, 0); }, "rank 1 called split", sum, "rank 0 called all_reduce"},
  };
  for (auto const& t : table) {
    auto const out = failure_of(3, {}, [&](any_communicator& c) { c.rank() == 1 ? t.wrong(c) : t.right(c); });
    CHECK(out.named == 1);
    for (auto const& seen : out.seen) {
      CHECK_THAT(seen, ContainsSubstring(t.called));
      CHECK_THAT(seen, ContainsSubstring(t.others));
    }
  }
}

TEST_CASE("a rank that returns early is named by those who wait for it") {
  auto const pending = GENERATE(&wait_for_all, &wait_for_message);
  auto const out = failure_of(4, {}, [&](any_communicator& c) {
    if (c.rank() != 2) pending(c);
  });
  CHECK(out.named == 2);
  CHECK_THAT(out.message, ContainsSubstring("rank 2 returned while rank"));
}

TEST_CASE("ranks that all wait for each other are told who waits for what") {
  auto const out = failure_of(3, {}, [](any_communicator& c) {
    if (c.rank() == 2) return wait_for_message(c); // from itself
    all_reduce(c, 1.0);
  });
  CHECK_THAT(out.message, ContainsSubstring("deadlock"));
  CHECK_THAT(out.message, ContainsSubstring("waits in all_reduce(sum, 1 x float64) for rank 2"));
  CHECK_THAT(out.message, ContainsSubstring("rank 2 waits for a message from rank 2"));
  for (auto const& seen : out.seen) CHECK(seen == out.message);
}

TEST_CASE("a message of another length is an error on both sides") {
  auto const out = failure_of(2, {}, [](any_communicator& c) {
    std::vector<std::byte> data(8);
    std::vector<sla::outgoing_message> const sends{{1, {data.data(), 8}}};
    std::vector<sla::incoming_message> const receives{{0, {data.data(), 4}}};
    if (c.rank() == 0)
      c.start(sends, {})->wait();
    else
      c.start({}, receives)->wait();
    c.barrier();
  });
  CHECK(out.named == 1);
  CHECK_THAT(out.seen[0], ContainsSubstring("from rank 0 to rank 1 has 8 bytes, and the receiver expects 4"));
}

TEST_CASE("a rank that does not arrive in time is named") {
  auto const out = failure_of(3, {.timeout = 200ms}, [](any_communicator& c) {
    if (c.rank() == 1) std::this_thread::sleep_for(1s);
    c.barrier();
  });
  CHECK(out.named == 1);
  CHECK_THAT(out.message, ContainsSubstring("no answer in 0.2 s"));
  CHECK_THAT(out.message, ContainsSubstring("waits in barrier for rank 1"));
}

TEST_CASE("a delayed message arrives no sooner, and its delay overlaps with work") {
  auto const seconds = sla::threads::run(2, {.delay = 300ms}, [](auto& world) {
    auto const c = erase(world);
    auto const begin = std::chrono::steady_clock::now(); // nobody sends before all have come
    c->barrier();
    int const mine = 7 + world.rank();
    int got = 0;
    std::vector<sla::outgoing_message> const sends{sla::send_to(1 - world.rank(), std::span<int const>(&mine, 1))};
    std::vector<sla::incoming_message> const receives{sla::receive_from(1 - world.rank(), std::span<int>(&got, 1))};
    auto const e = c->start(sends, receives);
    auto const started = std::chrono::steady_clock::now();
    bool const early = e->done() || got != 0;
    if (early && std::chrono::steady_clock::now() - begin < 300ms) throw sla::error("the message came before its time");
    std::this_thread::sleep_for(200ms); // as long as the interior rows take
    e->wait();
    if (started - begin > 250ms) throw sla::error("to send is not to wait");
    if (got != 8 - world.rank()) throw sla::error("the wrong message");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  for (double s : seconds) {
    CHECK(s >= 0.3);
    CHECK(s < 0.49); // not 200 + 300 ms
  }
}

TEST_CASE("run returns the largest int, nothing, or one result per rank") {
  CHECK(sla::threads::run(4, [](auto& world) { return world.rank() == 2 ? 5 : 1; }) == 5);
  std::vector<char> done(3);
  sla::threads::run(3, [&](auto& world) { done[static_cast<std::size_t>(world.rank())] = 1; });
  CHECK(done == std::vector<char>{1, 1, 1});
  CHECK(sla::threads::run(3, [](auto& world) { return world.rank() > 0; }) == std::vector<bool>{false, true, true});
  CHECK_THROWS_WITH(sla::threads::run(0, [](auto&) {}), ContainsSubstring("at least one rank"));
}

TEST_CASE("a thread rank uses as many host threads as its options say") {
  sla::set_threads(0);
  int const outside = sla::threads_in_use();
  auto const used = sla::threads::run(2, [](auto&) { return std::string(1, char('0' + sla::threads_in_use())); });
  CHECK(used == std::vector<std::string>{"1", "1"});
#ifdef _OPENMP
  auto const more = sla::threads::run(2, {.threads_per_rank = 3}, [](auto&) { return long{sla::threads_in_use()}; });
  CHECK(more == std::vector<long>{3, 3});
#endif
  CHECK(sla::threads_in_use() == outside);
}

TEST_CASE("many ranks make many calls") {
  sla::threads::run(16, [](auto& world) {
    auto const c = erase(world);
    double x = world.rank();
    for (int k = 0; k < 200; ++k) x = all_reduce(*c, x) / 16;
    if (std::abs(x - 7.5) > 1e-9) throw sla::error("the average drifted");
  });
}
} // namespace test_communicator_failures
