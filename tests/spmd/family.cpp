// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Owner maps: every family deals out each index exactly once, to the rank that says that it owns it.
#include <cstdint>
#include <vector>

#include <sla/spmd/family.hpp>

#include "catch.hpp"

using namespace sla;

namespace {

// Dealt out in turns: a family that the library does not know; the rules take it too (tests/spmd/types.cpp).
struct Cyclic {
  static constexpr bool even = false, contiguous = false, stated = true;
  static constexpr bool accepts(std::int64_t, int ranks) { return ranks > 0; }
  static constexpr int owner(std::int64_t i, std::int64_t, int ranks) { return static_cast<int>(i % ranks); }
  static constexpr std::int64_t local_extent(int rank, std::int64_t extent, int ranks) {
    return (extent - rank + ranks - 1) / ranks;
  }
  static constexpr std::int64_t local_to_global(int rank, std::int64_t j, std::int64_t, int ranks) {
    return rank + j * ranks;
  }
};

template <class F>
void check_partition(std::int64_t extent, int ranks) {
  std::vector<int> seen(static_cast<std::size_t>(extent), 0);
  std::int64_t total = 0, largest = 0, smallest = extent;
  for (int r = 0; r < ranks; ++r) {
    auto const mine = F::local_extent(r, extent, ranks);
    REQUIRE(mine >= 0);
    total += mine;
    largest = mine > largest ? mine : largest;
    smallest = mine < smallest ? mine : smallest;
    for (std::int64_t j = 0; j < mine; ++j) {
      auto const i = F::local_to_global(r, j, extent, ranks);
      REQUIRE(i >= 0);
      REQUIRE(i < extent);
      ++seen[static_cast<std::size_t>(i)];
      REQUIRE(F::owner(i, extent, ranks) == r);
    }
    if constexpr (F::contiguous) {
      REQUIRE(F::first(r, extent, ranks) + mine == F::first(r + 1, extent, ranks));
      REQUIRE(F::first(ranks, extent, ranks) == extent);
    }
  }
  REQUIRE(total == extent);
  for (int count : seen) REQUIRE(count == 1);
  if (F::even) REQUIRE(largest == smallest);
}

template <class F>
void check_family() {
  for (int ranks = 1; ranks <= 6; ++ranks)
    for (std::int64_t extent = 0; extent <= 20; ++extent)
      if (F::accepts(extent, ranks)) check_partition<F>(extent, ranks);
}

static_assert(StatedFamily<Even> && StatedFamily<Ceil> && StatedFamily<Balanced> && StatedFamily<Table<3, 2, 2>>);
static_assert(StatedFamily<Cyclic> && ShardFamily<Part<>> && !StatedFamily<Part<"metis">>);

} // namespace

TEST_CASE("a family deals out each index once") {
  check_family<Even>();
  check_family<Ceil>();
  check_family<Balanced>();
  check_family<Table<3, 0, 4>>();
  check_family<Table<5>>();
  check_family<Cyclic>();
}

TEST_CASE("the families differ in their last pieces") {
  CHECK(!Even::accepts(10, 4));
  CHECK(Even::accepts(12, 4));
  CHECK(Ceil::local_extent(3, 10, 4) == 1);
  CHECK(Ceil::local_extent(3, 9, 4) == 0);
  CHECK(Balanced::local_extent(0, 10, 4) == 3);
  CHECK(Balanced::local_extent(3, 10, 4) == 2);
  CHECK(Table<3, 0, 4>::accepts(7, 3));
  CHECK(!Table<3, 0, 4>::accepts(8, 3));
  CHECK(Table<3, 0, 4>::owner(3, 7, 3) == 2);
}
