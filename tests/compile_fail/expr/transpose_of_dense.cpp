// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: x.T y is dot.x, y., and x.T A is transpose.A. . x
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  double const s = dot(x, x);
#else
  auto const s = transpose(x);
#endif
  return sizeof(s) > 0 ? 0 : 1;
}
