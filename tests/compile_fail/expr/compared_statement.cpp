// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the numbers themselves are dot.x, y., norm.x., sum.x.
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  bool const little = norm(x) < 3.0;
#else
  bool const little = norm_of(x) < 3.0;
#endif
  return little ? 0 : 1;
}
