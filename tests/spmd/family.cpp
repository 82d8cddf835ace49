// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Owner maps: every family shards each index exactly once, to the rank that says that it owns it.
#include <cstdint>
#include <sstream>
#include <vector>

#include <sla/spmd/placement/family.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_family {

using namespace sla;

namespace {

// Sharded out in turns: a family that the library does not know; the rules take it too (tests/spmd/types.cpp).
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
static_assert(StatedFamily<Strided<2>> && StatedFamily<Strided<3, Ceil>>);
static_assert(family_facts_of<Even>.reshapeable && !family_facts_of<Strided<2>>.reshapeable &&
              family_facts_of<Strided<2>>.even && !family_facts_of<Strided<2, Ceil>>.even &&
              !family_facts_of<Part<>>.stated && family_facts_of<Part<>>.accepts == nullptr &&
              family_facts_of<Cyclic>.local_to_global(1, 2, 9, 3) == 7);
static_assert(StatedFamily<Cyclic> && ShardFamily<Part<>> && !StatedFamily<Part<"metis">>);

} // namespace

TEST_CASE("a family shards each index once") {
  check_family<Even>();
  check_family<Ceil>();
  check_family<Balanced>();
  check_family<Table<3, 0, 4>>();
  check_family<Table<5>>();
  check_family<Cyclic>();
  check_family<Strided<1>>();
  check_family<Strided<2>>();
  check_family<Strided<3>>();
  check_family<Strided<2, Ceil>>();
  check_family<Strided<3, Balanced>>();
  check_family<Strided<4, Ceil>>();
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

namespace {

template <class F>
std::vector<std::int64_t> indices_of(int rank, std::int64_t extent, int ranks) {
  std::vector<std::int64_t> out;
  for (std::int64_t j = 0; j < F::local_extent(rank, extent, ranks); ++j)
    out.push_back(F::local_to_global(rank, j, extent, ranks));
  return out;
}

std::vector<std::int64_t> indices_of(std::string const& name, int pieces, int rank, std::int64_t extent, int ranks) {
  if (name == "Shard") return indices_of<Ceil>(rank, extent, ranks);
  switch (pieces) {
  case 2: return indices_of<Strided<2, Ceil>>(rank, extent, ranks);
  case 3: return indices_of<Strided<3, Ceil>>(rank, extent, ranks);
  default: return indices_of<Strided<4, Ceil>>(rank, extent, ranks);
  }
}

} // namespace

TEST_CASE("uneven and strided pieces hold the indices of the table") {
  int compared = 0;
  for (auto const& row : placed_values::table("uneven.csv")) {
    int const pieces = row[1].empty() ? 1 : std::stoi(row[1]), ranks = std::stoi(row[3]), rank = std::stoi(row[4]);
    std::int64_t const extent = std::stoi(row[2]);
    std::vector<std::int64_t> expected;
    std::istringstream in(row.size() > 7 ? row[7] : "");
    for (std::int64_t i; in >> i;) expected.push_back(i);
    INFO(row[0] << " " << pieces << " of " << extent << " on rank " << rank << " of " << ranks);
    REQUIRE(static_cast<std::int64_t>(expected.size()) == std::stoi(row[5]));
    REQUIRE(indices_of(row[0], pieces, rank, extent, ranks) == expected);
    ++compared;
  }
  CHECK(compared == 340);
}

TEST_CASE("blocks sent within one dimension make a strided shard") {
  constexpr int ranks = 3, extent = 18, part = extent / ranks, block = part / ranks;
  for (int to = 0; to < ranks; ++to) {
    std::vector<std::int64_t> received;
    for (int from = 0; from < ranks; ++from)
      for (int n = 0; n < block; ++n) received.push_back(from * part + to * block + n);
    CHECK(indices_of<Strided<ranks>>(to, extent, ranks) == received);
  }
}

} // namespace test_family
