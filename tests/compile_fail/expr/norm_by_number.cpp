// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the others are norm1.x. and norm_inf.x.
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  sla::vector<double> const x = diagonal_of(A);
#ifdef FIXED
  double const n = norm1(A) + norm(x);
#else
  double const n = norm(A, 1) + norm(x);
#endif
  return n > 0 ? 0 : 1;
}
