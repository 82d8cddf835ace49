// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a quotient with a sparse tensor: A.-1 b is solve.A, b.
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  auto const b = sla::ones<double>(16);
#ifdef FIXED
  sla::vector<double> x = solve(A, b);
#else
  sla::vector<double> x = b / A;
#endif
  return x.size() == 16 ? 0 : 1;
}
