// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: to_blocks<P, Q>\(A\): the rows of A are a multiple of P, its columns of Q
#include <sla/tensor/build/block.hpp>

int main() {
#ifdef FIXED
  sla::sparse_tensor<double, sla::Shape<sla::Batch<>, 6, 6, sla::Block<>>> A;
#else
  sla::sparse_tensor<double, sla::Shape<sla::Batch<>, 5, 6, sla::Block<>>> A;
#endif
  return int(sla::to_blocks<3, 3>(A).nnz());
}
