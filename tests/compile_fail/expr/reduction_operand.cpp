// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a named reduction is not a number: write .double s = dot
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto x = ones<double>(3);
#ifdef FIXED
  double s = norm(x);
#else
  auto s = norm(x);
#endif
  auto t = 2.0 * s;
  return int(t);
}
