// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: arithmetic on a tensor and a text or pointer
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(4);
#ifdef FIXED
  sla::vector<double> const y = x * 2.0;
#else
  sla::vector<double> const y = x * "2.0";
#endif
  return int(y.size()) - 4;
}
