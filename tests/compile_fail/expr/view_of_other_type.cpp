// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: B has another scalar, shape or format than the view of A
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
#ifdef FIXED
  sla::sparse_tensor<float> B = sla::cast<float>(transpose(A));
#else
  sla::sparse_tensor<float> B = transpose(A);
#endif
  return B.rows() == 16 ? 0 : 1;
}
