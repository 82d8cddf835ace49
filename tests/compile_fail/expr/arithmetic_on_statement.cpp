// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the numbers themselves are dot.x, y., norm.x., sum.x.
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  double const s = 1.0 + dot(x, x);
#else
  double const s = 1.0 + dot_of(x, x);
#endif
  return s == 5 ? 0 : 1;
}
