// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A must be square
#include <sla/solve.hpp>

using sla::Batch, sla::Block, sla::Shape;

int main() {
#ifdef FIXED
  sla::sparse_tensor<double, Shape<Batch<>, 4, 4, Block<>>> A;
#else
  sla::sparse_tensor<double, Shape<Batch<>, 4, 3, Block<>>> A;
#endif
  return sla::solve(A, sla::ones<double>(4), sla::cg{}).size() ? 0 : 1;
}
