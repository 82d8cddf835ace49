// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that ranks send to each other by tables, against what each rank knows of all: uneven, empty, and back.
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/step/splits.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

using namespace sla;
using suite::require;

namespace {
namespace splits_of_rows {
using Ranks = mesh<axis<"ep">>;

/// How many rows rank r sends to rank s: some none.
index_t rows_for(int r, int s) { return (3 * r + 2 * s + r * s) % 4; }

void exchange(Ranks const& m) {
  auto& c = m.communicator(0);
  int const N = c.size(), me = c.rank();
  splits tables;
  for (int r = 0; r < N; ++r) tables.send.push_back(rows_for(me, r)), tables.receive.push_back(rows_for(r, me));
  auto const sum = [&](int r) {
    index_t rows = 0;
    for (int s = 0; s < N; ++s) rows += rows_for(r, s);
    return rows;
  };
  auto const of = [&](int r) { return suite::whole_numbers(Extents<dyn, dyn>(sum(r), 3), r + 1); };
  auto const x = suite::as<Varying>(of(me), m);
  auto const y = all_to_all<"ep", Varying>(x, tables);
  index_t at = 0;
  for (int r = 0; r < N; ++r) {
    auto const theirs = of(r);
    index_t first = 0;
    for (int s = 0; s < me; ++s) first += rows_for(r, s);
    for (index_t k = 0; k < rows_for(r, me); ++k, ++at)
      for (index_t w = 0; w < 3; ++w) require(y.local()(at, w) == theirs(first + k, w), c, "the rows in the order of the ranks");
  }
  require(y.local().extent(0) == at, c, "no more rows");
  auto const asked = all_to_all<"ep", Varying>(2.0 * x, splits{tables.send});
  auto const back = all_to_all<"ep", Varying>(y, splits{tables.receive, tables.send});
  require(suite::equal(asked.local(), eval(2.0 * y).local()) && suite::equal(back.local(), x.local()), c, "asked for, and back");

  suite::check_adjoint(c, x, [&](auto const& v) { return all_to_all<"ep", Varying>(v, tables); }, "all_to_all by tables");
  suite::check_adjoint(c, x, [&](auto const& v) { return all_to_all<"ep", Varying>(v, splits{tables.send}); }, "all_to_all by one table");
  auto const d = suite::as<Varying>(suite::whole_numbers(x.local().extents(), 40 + me), m);
  auto const [z, dz] = jvp([&](auto const& v) { return all_to_all<"ep", Varying>(v, splits{tables.send}); }, std::tie(x), std::tie(d));
  require(suite::equal(z.local(), y.local()) && suite::equal(dz.local(), all_to_all<"ep", Varying>(d, tables).local()), c, "tangents");
}
} // namespace splits_of_rows
} // namespace

TEST_CASE("rows go where tables say, of unequal sizes, and gradients come back by the tables exchanged") {
  for (int ranks : {1, 2, 3, 4, 8}) CHECK_NOTHROW(threads::run(ranks, [](auto& world) { splits_of_rows::exchange(splits_of_rows::Ranks(world)); }));
}

TEST_CASE("a table that does not add up on one rank is refused on all") {
  for (auto const& words : threads::run(3, [](auto& world) {
         splits_of_rows::Ranks const m(world);
         auto const x = suite::as<Varying>(suite::whole_numbers(Extents<dyn>(4), 1), m);
         try {
           (void)all_to_all<"ep", Varying>(x, splits{{1, 1, world.rank() == 1 ? 3 : 2}});
         } catch (error const& e) {
           return std::string(e.what());
         }
         return std::string();
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("the table `send` gives away 5 rows, and x has 4"));
}
