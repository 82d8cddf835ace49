// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: complex values do not become real; take real\(A\), imag\(A\) or abs\(A\)
#include <sla/tensor/build/convert.hpp>

int main() {
#ifdef FIXED
  sla::sparse_tensor<float> A;
#else
  sla::sparse_tensor<std::complex<double>> A;
#endif
  return int(sla::cast<double>(A).nnz());
}
