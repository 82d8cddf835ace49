// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the product A . A is its square
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({2, 2});
#ifdef FIXED
  auto const K = A * A;
#else
  auto const K = pow(A, 2);
#endif
  return K.rows() == 4 ? 0 : 1;
}
