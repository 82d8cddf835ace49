// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Part 2 of 4 of the random calls as types.
#include "random_types.hpp"

TEST_CASE("random calls as types, part 2 of 4") {
  int const accepted = random_types::compare<500>(std::make_integer_sequence<int, 500>{});
  CHECK(accepted > 50);
}
