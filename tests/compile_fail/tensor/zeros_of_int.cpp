// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: T is float, double, std::complex<float> or std::complex<double>
#include <sla/tensor/storage/dense.hpp>

int main() {
#ifdef FIXED
  auto const x = sla::zeros<double>(3);
#else
  auto const x = sla::zeros<long>(3);
#endif
  return int(x.size()) - 3;
}
