// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: multiply_elements.A, B. multiplies entries of sparse tensors
#include <sla/sla.hpp>

auto f(sla::sparse_tensor<double> const& A, sla::vector<double> const& x) {
#ifdef FIXED
  return sla::eval(scale_rows(A, x));
#else
  return multiply_elements(A, x);
#endif
}
int main() {}
