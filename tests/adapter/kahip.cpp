// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// KaHIP: its partitions, and its refusals in words.
#include <sla/adapter/kahip.hpp>

#include "suites/graph_partitioner.hpp"

using namespace sla;

TEST_CASE("kaffpa_kway does what a partitioner must do") {
  suite::check_graph_partitioner(kaffpa_kway{.mode = kaffpa_mode::fast}, "kaffpa_kway", {2, 5, 16});
}

TEST_CASE("options out of range are refused in words") {
  auto const A = problems::poisson<double>({20, 20});
  CHECK_THROWS_WITH(partition(A, 2, kaffpa_kway{.imbalance = -1}), Catch::Matchers::ContainsSubstring("imbalance is -1"));
}
