// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Helpers of a thread: every part of a loop is done once, whoever does it, also after exceptions, in threads that end, and after a fork.
#include <sys/wait.h>

#include <stdexcept>
#include <thread>

#include <sla/tensor/storage/parallel.hpp>

#include "catch.hpp"

using namespace sla;

namespace {
/// The team itself, so that the test has threads without OpenMP too.
struct anywhere {
  void operator()(pthread_attr_t&, int) const {}
};
using team = detail::team<anywhere>;
template <class F>
void on_team(team& helpers, int count, F const& f) {
  helpers.run(count, {[](void const* g, int t) { (*static_cast<F const*>(g))(t); }, &f});
}
}  // namespace

TEST_CASE("each part of a loop is done once, for any number of helpers, and its writes are seen") {
  team helpers;
  for (int round = 0; round < 3000; ++round) {
    int const count = 1 + round % 9;
    std::vector<int> done(std::size_t(count), 0);
    on_team(helpers, count, [&](int t) { ++done[std::size_t(t)]; });
    REQUIRE(done == std::vector<int>(std::size_t(count), 1));
  }
}

TEST_CASE("the owner of a team does what helpers have not begun") {
  team helpers;
  auto const me = std::this_thread::get_id();
  int by_owner = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread::id> who(8);
    on_team(helpers, 8, [&](int t) { who[std::size_t(t)] = std::this_thread::get_id(); });
    CHECK(who[0] == me);
    for (auto const& id : who) by_owner += id == me;
  }
  CHECK(by_owner > 200);  // eight threads never all begin within the microsecond that part 0 takes
}

TEST_CASE("the first exception of a loop is rethrown, and the team works on") {
  team helpers;
  for (int round = 0; round < 100; ++round) {
    CHECK_THROWS_WITH(on_team(helpers, 4, [](int t) { if (t == 2) throw std::runtime_error("part 2"); }), "part 2");
    std::vector<int> done(4, 0);
    on_team(helpers, 4, [&](int t) { done[std::size_t(t)] = t; });
    CHECK(done == std::vector<int>{0, 1, 2, 3});
  }
}

TEST_CASE("a loop inside of a loop stays on its thread") {
  std::vector<int> inner(4, 0);
  parallel(4, [&](int t) {
    auto const me = std::this_thread::get_id();
    parallel(3, [&](int) { inner[std::size_t(t)] += std::this_thread::get_id() == me; });
  });
  CHECK(inner == std::vector<int>(4, 3));
}

TEST_CASE("threads that end take their helpers with them, and a forked process does its loops") {
  for (int round = 0; round < 20; ++round) {
    int sum = 0;
    std::thread user([&] {
      std::vector<int> part(3, 0);
      parallel(3, [&](int t) { part[std::size_t(t)] = t + 1; });
      sum = part[0] + part[1] + part[2];
    });
    user.join();
    CHECK(sum == 6);
  }
  parallel(3, [](int) {});
  pid_t const child = fork();
  if (child == 0) {
    std::vector<int> part(3, 0);
    parallel(3, [&](int t) { part[std::size_t(t)] = t + 1; });
    _exit(part == std::vector<int>{1, 2, 3} ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
