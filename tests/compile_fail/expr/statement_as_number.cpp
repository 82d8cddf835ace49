// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a number of a statement
#include <cmath>
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  double const s = std::sqrt(dot(x, x));
#else
  double const s = std::sqrt(dot_of(x, x));
#endif
  return s > 0 ? 0 : 1;
}
