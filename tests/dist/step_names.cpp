// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that take different steps are told so by the names of the steps, on every rank, and never wait for each other.
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_step_names {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 2>>;

namespace {
/// What the ranks of a 2 x 2 mesh are told.
template <class F>
std::vector<std::string> told(F const& f) {
  std::vector<std::string> words(4);
  try {
    threads::run(4, [&](auto& world) {
      try {
        f(Grid(world));
      } catch (rank_error const& e) {
        words[suite::at(world.rank())] = e.what();
        throw;
      }
    });
  } catch (rank_error const&) {
  }
  return words;
}
template <class... P>
auto value(Grid const& m) {
  return suite::placed_as<suite::numbers<>, Grid, P...>(suite::whole_numbers(Extents<dyn, dyn>(4, 4), 1), m);
}
} // namespace

TEST_CASE("steps that differ in their kind, target or source are named on every rank") {
  auto const kinds = told([](Grid const& m) {
    auto const p = value<Partial<>, Replicate>(m);
    if (m.world().rank() == 2)
      reduce_scatter<"dp", Shard<1>>(p);
    else
      all_reduce<"dp">(p);
    m.world().barrier(); // two ranks disagree, and the others hear of it here
  });
  for (auto const& words : kinds) {
    CHECK_THAT(words, ContainsSubstring("all_reduce<\"dp\", Partial<Sum>, Replicate>"));
    CHECK_THAT(words, ContainsSubstring("reduce_scatter<\"dp\", Partial<Sum>, Shard<1>>"));
  }
  // The same bytes by the same call of the engine: only the steps differ.
  auto const targets = told([](Grid const& m) {
    auto const p = value<Replicate, Partial<>>(m);
    if (m.world().rank() % 2 == 0)
      all_reduce<"tp", Invariant>(p);
    else
      all_reduce<"tp">(p);
  });
  for (auto const& words : targets)
    CHECK_THAT(words, ContainsSubstring("Invariant>, by all_reduce(sum, 16 x float64) and rank"));
  auto const sources = told([](Grid const& m) {
    if (m.world().rank() < 2)
      all_gather<"dp">(distribute<Shard<0>, Replicate>(suite::whole_numbers(Extents<dyn, dyn>(4, 4), 1), m));
    else
      all_gather<"dp">(distribute<Shard<1>, Replicate>(suite::whole_numbers(Extents<dyn, dyn>(4, 4), 1), m));
  });
  for (auto const& words : sources) CHECK_THAT(words, ContainsSubstring("Shard<1>, Replicate>"));
}

TEST_CASE("a report of a partition that one rank asks for is named where the others wait") {
  auto const words = told([](Grid const& m) {
    auto const D = distribute<SparseShard<0>, Replicate>(problems::poisson({4, 4}), m, strips{});
    if (m.world().rank() == 0) report_partition(D);
    m.world().barrier();
  });
  for (int rank : {0, 2}) CHECK_THAT(words[suite::at(rank)], ContainsSubstring("report_partition(D)"));
}

TEST_CASE("steps along different axes do not wait for each other") {
  auto const words = told([](Grid const& m) {
    auto const p = value<Partial<>, Partial<>>(m);
    if (m.world().rank() == 3)
      all_reduce<"dp">(p);
    else
      all_reduce<"tp">(p);
    m.world().barrier();
  });
  for (auto const& w : words) {
    CHECK_THAT(w, ContainsSubstring("all_reduce<\"dp\", Partial<Sum>, Replicate>"));
    CHECK_THAT(w, ContainsSubstring("all_reduce<\"tp\", Partial<Sum>, Replicate>"));
  }
}

TEST_CASE("equal steps are silent, and engines that do not compare calls take them") {
  CHECK(told([](Grid const& m) { all_reduce<"tp">(all_reduce<"dp">(value<Partial<>, Partial<>>(m))); })[0].empty());
  fake alone(4, 1);
  CHECK(all_reduce<"dp">(value<Partial<>, Replicate>(Grid(alone))).local().size() == 16);
}
} // namespace test_step_names
