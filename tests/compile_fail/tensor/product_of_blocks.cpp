// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: block columns of A must be the rows and block rows of B
// apart: clang does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  sparse_tensor<double, Shape<Batch<>, dyn, dyn, Block<3, 2>>> A;
#ifdef FIXED
  sparse_tensor<double, Shape<Batch<>, dyn, dyn, Block<2, 4>>> B;
#else
  sparse_tensor<double, Shape<Batch<>, dyn, dyn, Block<3, 4>>> B;
#endif
  return int((A * B).nnz());
}
