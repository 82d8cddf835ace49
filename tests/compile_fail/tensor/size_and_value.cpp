// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: full<double>.n, value. n times the value
#include <sla/tensor/storage/dense.hpp>

int main() {
#ifdef FIXED
  auto x = sla::full<double>(5, 1.0);
#else
  sla::vector<double> x(5, 1.0);
#endif
  return int(x.size()) - 5;
}
