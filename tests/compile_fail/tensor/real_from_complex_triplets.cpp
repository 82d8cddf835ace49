// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the values do not convert to T \(complex values want a complex T\)
#include <complex>
#include <vector>

#include <sla/tensor/build/build.hpp>

int main() {
  std::vector<int> at{0};
  std::vector<std::complex<double>> values{1};
#ifdef FIXED
  auto A = sla::from_triplets<std::complex<double>>(1, 1, at, at, values);
#else
  auto A = sla::from_triplets<double>(1, 1, at, at, values);
#endif
  return int(A.nnz()) - 1;
}
