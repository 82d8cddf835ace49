// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the diagonal of a sparse A is diagonal_of.A.
#include <sla/tensor.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
#ifdef FIXED
  auto const d = diagonal_of(A);
#else
  auto const d = diagonal(A);
#endif
  static_cast<void>(d);
}
