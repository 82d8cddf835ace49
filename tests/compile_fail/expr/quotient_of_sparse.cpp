// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a quotient with a sparse tensor: A.-1 b is solve.A, b.
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  sla::vector<double> const x = diagonal_of(A);
#ifdef FIXED
  auto const B = A * A;
#else
  auto const B = A / A;
#endif
  return norm(B) > 0 ? 0 : 1;
}
