// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: f returns a float or a double
#include <sla/solve.hpp>

int main() {
  auto const x = sla::random<double>(16, 1);
#ifdef FIXED
  auto const mask = eval(x > 0.5);
#else
  auto const mask = eval(apply([](double a) { return a > 0.5; }, x));
#endif
  return mask.size() == 16 ? 0 : 1;
}
