// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is not stored would be compared too.
// expect-error: a comparison of a sparse tensor, or where\(c, x, y\) of one: compare the stored values
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
#ifdef FIXED
  auto const B = with_values(A, where(values(A) > 0.5, values(A), 0.0));
#else
  auto const B = masked(A, A > 0.5);
#endif
  return B.nnz() == A.nnz() ? 0 : 1;
}
