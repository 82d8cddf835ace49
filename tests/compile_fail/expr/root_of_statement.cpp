// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: another program needs the same instance of the sentence
// expect-error: the numbers themselves are dot.x, y., norm.x., sum.x.
#include <sla/solve.hpp>
#include <cmath>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  double const s = std::sqrt(norm(x));
#else
  double const s = sqrt(norm_of(x));
#endif
  return s > 0 ? 0 : 1;
}
