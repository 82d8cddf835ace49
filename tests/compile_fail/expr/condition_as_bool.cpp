// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A condition has as many answers as elements.
// expect-error: a condition has an answer for each element: any\(x > 0.5\) or all\(x > 0.5\) is one
#include <sla/exec/evaluate.hpp>

int main() {
  auto const b = sla::random<double>(16, 1);
#ifdef FIXED
  if (any(b > 0.5)) return 0;
#else
  if (b > 0.5) return 0;
#endif
  return 1;
}
