// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A . x: A is sparse, and what it does not store would be filled
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
#ifdef FIXED
  sla::sparse_tensor<double> B = sla::with_values(A, values(A) + 1.0);
#else
  sla::sparse_tensor<double> B = A + 1.0;
#endif
  return B.nnz() == A.nnz() ? 0 : 1;
}
