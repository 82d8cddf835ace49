// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: read_matrix_market<T>.path.: name the type of the entries
#include <sla/tensor/files/matrix_market.hpp>

int main() {
#ifdef FIXED
  return int(sla::read_matrix_market<double>("A.mtx").nnz());
#else
  return int(sla::read_matrix_market("A.mtx").nnz());
#endif
}
