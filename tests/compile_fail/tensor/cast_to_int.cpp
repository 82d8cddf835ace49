// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: T is float, double, std::complex<float> or std::complex<double>
#include <sla/tensor/build/convert.hpp>

int main() {
  auto const x = sla::ones<double>(3);
#ifdef FIXED
  auto const y = sla::cast<float>(x);
#else
  auto const y = sla::cast<unsigned>(x);
#endif
  return int(y.size()) - 3;
}
