// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: where.condition, x, y.: it takes x where the condition holds, and y elsewhere
#include <sla/exec/evaluate.hpp>

double total(sla::vector<double> const& x) {
#ifdef FIXED
  return sum(where(x > 0.5, x, 0.0));
#else
  return sum(where(x > 0.5, x));
#endif
}
