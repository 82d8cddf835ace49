// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps on thread ranks against their specification on lists of ranks, and their adjoints.
#include <sla/dist/fake.hpp>
#include <sla/dist/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

using namespace sla;
using Ranks = mesh<axis<"tp">>;

TEST_CASE("values of each rank are stacked, taken apart and exchanged, and gradients come back") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [](auto& world) { suite::varying(Ranks(world)); }));
}

TEST_CASE("copies become sums and sums copies, and gradients come back") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [](auto& world) { suite::copies(Ranks(world)); }));
}

TEST_CASE("parts are gathered, folded, cut, and dealt out again by dimension and family, and gradients come back") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [](auto& world) { suite::parts(Ranks(world)); }));
}
