// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much of an exhaustive test runs: all of it, or a sample where the environment asks for one, as for the sanitizers.
#pragma once
#include <algorithm>
#include <cstdlib>

/// The test takes one of so many cases: all, or as SLA_TEST_ONE_IN says.
inline int one_in() {
  char const* const said = std::getenv("SLA_TEST_ONE_IN");
  return said ? (std::max)(1, std::atoi(said)) : 1;
}
