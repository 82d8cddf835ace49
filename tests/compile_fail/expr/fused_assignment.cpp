// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the assignment y = 2.0 . b is set.y, 2.0 . b.
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
  sla::vector<double> y(4);
#ifdef FIXED
  fuse(set(y, 2.0 * x));
#else
  fuse(y = 2.0 * x);
#endif
  return 0;
}
