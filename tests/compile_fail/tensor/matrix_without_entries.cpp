// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a sparse tensor is made with its entries: from_triplets<T>
#include <sla/tensor/build/build.hpp>

int main() {
#ifdef FIXED
  auto const A = sla::triplets<double>(3, 3).build();
#else
  sla::sparse_tensor<double> const A(3, 3);
#endif
  return int(A.nnz());
}
