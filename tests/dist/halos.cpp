// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Halos by name and partitions found at run time on thread ranks, against the whole, and their adjoints.
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_halos {

using namespace sla;
using Ranks = mesh<axis<"tp">>;

TEST_CASE("halos of square and rectangular matrices are exchanged, folded and embedded, and gradients come back") {
  auto const A = problems::poisson<double>({6, 5});
  auto const R = suite::scattered<double>(30, 21, 80);
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [&](auto& world) {
    Ranks const m(world);
    suite::halos(m, A);
    suite::halos(m, R);
  }));
}
} // namespace test_halos
