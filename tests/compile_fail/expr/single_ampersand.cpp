// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: conditions are joined by &&
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  return any((x > 0.5) && (x < 2.0)) ? 0 : 1;
#else
  return any((x > 0.5) & (x < 2.0)) ? 0 : 1;
#endif
}
