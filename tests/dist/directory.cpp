// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Owners that are no ranges stand in a directory among the ranks: what it answers, what it holds, and what it refuses.
#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/value/explain_placement.hpp>

#include "catch.hpp"
#include "suites/communicator.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_directory {
using namespace sla;
using Catch::Matchers::ContainsSubstring;
using suite::require;
using Rows = mesh<axis<"rows">>;

/// The claims of a rank that gives every ranks-th row, in falling order.
struct claims {
  std::vector<index_t> row;
  std::vector<int> part;
  claims(owner_map const& owners, int rank, int ranks) {
    for (index_t i = owners.rows() - 1 - rank; i >= 0; i -= ranks) row.push_back(i), part.push_back(owners[i]);
  }
};

TEST_CASE("a directory answers as the table that nobody has") {
  for (int const ranks : {1, 2, 3, 4, 8})
    for (index_t const rows : {0, 5, 61}) CHECK_NOTHROW(threads::run(ranks, [&](auto& world) {
      Rows const m(world);
      auto& c = m.communicator(0);
      auto const owners = suite::scattered_owners(rows, ranks);
      claims const mine(owners, c.rank(), ranks);
      row_partition const found(c, rows, mine.row, mine.part), given(owners, c.rank());
      require(found.extent() == rows && found.contiguous() == owners.contiguous(), c, "its rows");
      require(found.fingerprint() == given.fingerprint() && found.fingerprint() == owners.fingerprint(), c, "one fingerprint however it was made");
      require(found.members() == owners.members(c.rank()) && given.members() == found.members(), c, "members");
      require(found.order(c) == owners.order(), c, "all in order");
      for (index_t n = 0; n < found.count(); ++n) require(found.local(found.global(n)) == n && found.owns(found.global(n)), c, "numbers");
      // Each rank asks for other rows, some of them twice; one asks for none.
      auto const asked = [&](index_t k) { return (7 * k + c.rank()) % rows; };
      index_t const count = rows == 0 || c.rank() == 1 ? 0 : 3 * rows / 2;
      auto const answer = found.owners_of(c, count, asked);
      for (index_t k = 0; k < count; ++k) require(answer[std::size_t(k)] == owners[asked(k)], c, "an owner");
    }));
}

TEST_CASE("claims that are ranges need no directory") {
  for (std::size_t const bytes : threads::run(4, [](auto& world) {
         Rows const m(world);
         auto& c = m.communicator(0);
         claims const mine(owner_map::equal(1000, 4), c.rank(), 4);
         row_partition const found(c, 1000, mine.row, mine.part);
         require(found.contiguous() && found.fingerprint() == owner_map::equal(1000, 4).fingerprint(), c, "equal ranges");
         return found.bytes();
       }))
    CHECK(bytes == sizeof(row_partition) + 5 * sizeof(index_t));
}

TEST_CASE("what a rank holds and sends of a layout follows from its own rows, not from all") {
  // A line of unknowns dealt out in turn: every row reads the next one, which is another rank's. For 500 rows of each rank:
  index_t const each = 500;
  std::vector<std::size_t> held, sent;
  for (int const ranks : {2, 4, 8}) {
    auto const of_rank = threads::run(ranks, [&](auto& world) {
      Rows const m(world);
      auto& c = m.communicator(0);
      std::vector<index_t> row;
      std::vector<int> part;
      for (index_t n = 0; n < each; ++n) row.push_back(c.rank() * each + n), part.push_back(int(row.back() % ranks));
      auto const before = c.stats();
      row_partition const rows(c, each * ranks, row, part);
      std::vector<index_t> near;
      for (index_t n = 0; n < rows.count(); ++n)
        if (rows.global(n) + 1 < rows.extent()) near.push_back(rows.global(n) + 1);
      auto const ghosts = detail::foreign_among(c, rows, near);
      require(index_t(ghosts.at.size()) + 1 >= each, c, "all that it reads is others'");
      return std::pair(rows.bytes(), std::size_t(c.stats().collective_bytes + c.stats().message_bytes - before.collective_bytes - before.message_bytes));
    });
    held.push_back(0), sent.push_back(0);
    for (auto const& [bytes, travelled] : of_rank) held.back() = (std::max)(held.back(), bytes), sent.back() = (std::max)(sent.back(), travelled);
    CHECK(held.back() <= sizeof(row_partition) + 8 * std::size_t(ranks + 1) + 12 * std::size_t(each));
  }
  for (std::size_t n = 1; n < held.size(); ++n) {
    CHECK(held[n] - held[0] == 8 * ((2u << n) - 2));  // the first rows of all ranks, and nothing else
    CHECK(sent[n] <= sent[0] + 64 * ((2u << n) - 2));  // counts of messages
  }
}

TEST_CASE("rows without an owner, or with two, are refused on all ranks") {
  struct mistake {
    char const *words, *more;
    void (*make)(claims&, int);
  };
  mistake const mistakes[] = {
      {"row 12 of 20 has no owner", "some rank gives each row", [](claims& c, int) { std::erase(c.row, 12), c.part.resize(c.row.size()); }},
      {"row 12 has two owners, part 2 by rank", "and part 2 by rank 2; one rank gives each row, once", [](claims& c, int rank) { if (rank == 2) c.row.push_back(12), c.part.push_back(2); }},
      {"rank 1 gives row 3 of 20 to part 7", "the parts 0 to 2", [](claims& c, int rank) { if (rank == 1) c.row = {3}, c.part = {7}; }},
      {"rank 1 gives row 20 of 20 to part 0", "the rows are 0 to 19", [](claims& c, int rank) { if (rank == 1) c.row = {20}, c.part = {0}; }},
      {"row 1 of 20 has no owner", "as those that own the rows now do", [](claims& c, int rank) { if (rank == 0) c.row.clear(), c.part.clear(); }}};
  std::vector<int> owner;
  for (int i = 0; i < 20; ++i) owner.push_back(i == 12 ? 2 : i % 3);
  for (mistake const& wrong : mistakes)
    for (auto const& words : suite::words_of(3, [&](auto& world) {
           Rows const m(world);
           claims mine(owner_map(owner, 3), world.rank(), 3);
           wrong.make(mine, world.rank());
           row_partition(m.communicator(0), 20, mine.row, mine.part);
         })) {
      CHECK_THAT(words, ContainsSubstring(wrong.words));
      CHECK_THAT(words, ContainsSubstring(wrong.more));
    }
}

TEST_CASE("a fake rank answers from the table, and every rank can be told who holds what") {
  fake world(64, 7);
  auto const A = problems::poisson<double>({40, 40});
  Rows const m(world);
  auto const D = distribute<SparseShard<0>>(A, m, suite::scattered_owners(1600, 64));
  CHECK(index_t(D.local().rows()) == suite::scattered_owners(1600, 64).count(7));
  for (auto const& parts : threads::run(3, [](auto& ranks) {
         auto const E = distribute<SparseShard<0>>(problems::poisson<double>({3, 2}), Rows(ranks), owner_map({2, 0, 1, 0, 2, 1}, 3));
         std::vector<std::vector<index_t>> out;
         for (auto const& share : shares(E)) out.push_back(share.indices[0]);
         return out;
       }))
    CHECK(parts == std::vector<std::vector<index_t>>{{1, 3}, {2, 5}, {0, 4}});
}
} // namespace test_directory
