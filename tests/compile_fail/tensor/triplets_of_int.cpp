// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sparse_tensor<T, ...>: T is float, double
#include <sla/tensor/build/build.hpp>

int main() {
#ifdef FIXED
  auto const A = sla::from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1, 2});
#else
  auto const A = sla::from_triplets<int>(2, 2, {0, 1}, {0, 1}, {1, 2});
#endif
  return int(A.nnz()) - 2;
}
