// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: rows.A, first, last.: A is a sparse tensor; of a vector x take rows.eye<double>.n., first, last. . x
#include <sla/tensor.hpp>

int main() {
  sla::vector<double> const x{1.0, 2.0, 3.0};
#ifdef FIXED
  sla::vector<double> const y(sla::borrow(x.data() + 1, 2));
#else
  auto const y = sla::rows(x, 1, 3);
#endif
  return y[0] == 2.0 ? 0 : 1;
}
