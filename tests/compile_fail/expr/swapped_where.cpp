// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A condition among the values, and no condition before them.
// expect-error: where\(condition, x, y\): the condition comes first: where\(x > 0.5, x, y\)
#include <sla/exec/evaluate.hpp>

double total(sla::vector<double> const& b, sla::vector<double> const& y) {
#ifdef FIXED
  return sum(where(b > 0.5, b, y));
#else
  return sum(where(b, b > 0.5, y));
#endif
}
