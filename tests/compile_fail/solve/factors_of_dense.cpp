// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A is a sparse tensor in host memory: of a dense matrix to<Csr<>>.D.
#include <sla/solve.hpp>

int main() {
  sla::matrix<double> const A{{1, 2}, {3, 4}};
#ifdef FIXED
  auto const s = sla::lu(sla::to<sla::Csr<>>(A));
#else
  auto const s = sla::lu(A);
#endif
  return sizeof(s) > 0 ? 0 : 1;
}
