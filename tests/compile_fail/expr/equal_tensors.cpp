// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: norm.x - y. <= tolerance compares them
#include <algorithm>

#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(16);
  auto const y = sla::random<double>(16, 1);
#ifdef FIXED
  bool const equal = norm(x - y) <= 1e-12 || std::ranges::equal(x, y);
#else
  bool const equal = x == y;
#endif
  return equal;
}
