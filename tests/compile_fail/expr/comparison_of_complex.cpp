// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: complex numbers: they have no order
#include <sla/solve.hpp>

int main() {
  auto const z = sla::random<std::complex<double>>(16, 1);
#ifdef FIXED
  auto const count = eval(abs(z) > 0.5);
#else
  auto const count = eval(z > 0.5);
#endif
  return count.size() == 16 ? 0 : 1;
}
