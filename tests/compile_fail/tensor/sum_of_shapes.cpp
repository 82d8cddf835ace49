// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the sparse tensors need one shape
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  sparse_tensor<double, Shape<Batch<>, 4, 4, Block<>>> A;
#ifdef FIXED
  sparse_tensor<double, Shape<Batch<>, 4, dyn, Block<>>> B;
#else
  sparse_tensor<double, Shape<Batch<>, 4, 5, Block<>>> B;
#endif
  return int((A + B).nnz());
}
