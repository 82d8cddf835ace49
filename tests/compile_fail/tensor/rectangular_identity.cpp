// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the identity is square
#include <sla/tensor.hpp>

int main() {
#ifdef FIXED
  auto const I = sla::eye<double>(3);
#else
  auto const I = sla::eye<double>(3, 3);
#endif
  return I.rows() == 3 ? 0 : 1;
}
