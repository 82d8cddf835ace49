// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: cat_rows, cat_cols, block_diagonal put sparse tensors together
#include <sla/sla.hpp>

auto f(sla::sparse_tensor<double> const& A, sla::matrix<double> const& M) {
#ifdef FIXED
  return cat_rows(A, sla::to<sla::Csr<>>(M));
#else
  return cat_rows(M, A);
#endif
}
int main() {}
