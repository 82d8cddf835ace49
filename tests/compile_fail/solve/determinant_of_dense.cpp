// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: det, slogdet, logdet, selected_inverse: A is a sparse tensor in host memory
// apart: compiled with others, clang does not tell who asked for it
#include <sla/determinant.hpp>

int main() {
  auto const D = sla::to_dense(sla::problems::poisson<double>({3, 3}));
#ifdef FIXED
  double const d = det(sla::to<sla::Csr<>>(D));
#else
  double const d = det(D);
#endif
  return d > 0 ? 0 : 1;
}
