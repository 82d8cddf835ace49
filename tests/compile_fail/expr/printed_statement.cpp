// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: print the tensor, or the number dot.x, y.
#include <sla/solve.hpp>
#include <iostream>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  std::cout << dot(x, x);
#else
  std::cout << dot_of(x, x);
#endif
  return 0;
}
