// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a named reduction is not a number: write .double s = dot
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto x = ones<double>(3);
#ifdef FIXED
  auto s = eval(dot(x, x));
#else
  auto s = dot(x, x);
#endif
  double t = s;
  return int(t);
}
