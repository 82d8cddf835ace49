// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: others are for solve.A, b, method.
#include <sla/least_squares.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::ones<double>(16);
#ifdef FIXED
  auto x = sla::least_squares(A, b, sla::lsmr{});
#else
  auto x = sla::least_squares(A, b, sla::gmres{});
#endif
  return x[0] > 0 ? 0 : 1;
}
