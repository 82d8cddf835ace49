// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one value everywhere is full<double>.n, value.
#include <sla/tensor/storage/dense.hpp>

int main() {
  sla::vector<double> x(3);
#ifdef FIXED
  x = sla::full<double>(3, 0.5);
#else
  x = 0.5;
#endif
  return int(x.size()) - 3;
}
