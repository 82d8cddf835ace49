// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: diagonal_of.A. the diagonal of a sparse A
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  sla::vector<double> const x = diagonal_of(A);
#ifdef FIXED
  auto const D = diagonal(x);
#else
  auto const D = diagonal_of(x);
#endif
  return norm(D) > 0 ? 0 : 1;
}
