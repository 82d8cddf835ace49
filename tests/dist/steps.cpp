// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps on thread ranks against their specification on lists of ranks, and their adjoints.
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_steps {

using namespace sla;
using Ranks = mesh<axis<"tp">>;

TEST_CASE("values of each rank are stacked, taken apart and exchanged, and gradients come back") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [](auto& world) { suite::varying(Ranks(world)); }));
}

TEST_CASE("copies become sums and sums copies, and gradients come back") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [](auto& world) { suite::copies(Ranks(world)); }));
}

TEST_CASE("parts are gathered, folded, cut, and resharded by dimension and family, and gradients come back") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [](auto& world) { suite::parts(Ranks(world)); }));
}

TEST_CASE("sizes of a table, with an empty part, and what cannot be sharded or taken apart") {
  CHECK_NOTHROW(threads::run(3, [](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    auto const whole = suite::whole_numbers(Extents<dyn, dyn>(5, 4), 6);
    suite::whole_and_parts<Shard<0, Table<3, 0, 2>>, false>(m, whole, "a table");
    auto const again = repartition<"tp", Shard<0, Table<0, 1, 4>>>(distribute<Shard<0, Table<3, 0, 2>>>(whole, m));
    suite::require(suite::equal(again.local(), distribute<Shard<0, Table<0, 1, 4>>>(whole, m).local()), c,
                   "table to table");
    auto const p = suite::as<Partial<>>(whole, m);
    suite::refuses<shape_error>(c, "cannot be sharded over 3 ranks", [&] { reduce_scatter<"tp", Shard<0>>(p); });
    suite::refuses<shape_error>(c, "cannot be sharded over 3 ranks",
                                [&] { reduce_scatter<"tp", Shard<0, Table<3, 1, 2>>>(p); });
    suite::refuses<shape_error>(c, "has 5 indices, and is taken apart for 3 ranks",
                                [&] { reduce_scatter<"tp", Varying>(p); });
    suite::refuses<shape_error>(c, "shards 0 indices", [&] { reduce_scatter<"tp", Shard<0, Part<>>>(p); });
    suite::refuses<value_error>(c, "a halo belongs to a sparse tensor", [&] {
      halo_reduce<"tp">(distributed<suite::numbers<>, Ranks, GhostP<0>>(whole, p.handle()));
    });
  }));
}

TEST_CASE("a fake world has the extents of every step and this rank's part") {
  fake alone(8, 5);
  Ranks const m(alone);
  auto const whole = suite::whole_numbers(Extents<dyn, dyn>(16, 24), 1);
  auto const rows = distribute<Shard<0>>(whole, m);
  CHECK(all_to_all<"tp", Shard<1>>(rows).local().extents() == Extents<dyn, dyn>(16, 3));
  CHECK(repartition<"tp", Shard<0, Ceil>>(rows).local().extents() == Extents<dyn, dyn>(2, 24));
  CHECK(all_gather<"tp", Replicate, 1>(suite::as<Varying>(whole, m)).local().extents() ==
        Extents<dyn, dyn, dyn>(16, 8, 24));
  CHECK(reduce_scatter<"tp", Varying, Varying>(suite::as<Varying>(suite::whole_numbers(Extents<dyn, dyn>(8, 3), 1), m))
            .local()
            .extent(0) == 3);
}
} // namespace test_steps
