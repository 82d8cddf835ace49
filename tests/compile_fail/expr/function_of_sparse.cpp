// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: entries that are not stored would not stay zero
// apart: clang does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/solve.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
#ifdef FIXED
  auto B = with_values(A, exp(values(A)));
#else
  auto B = exp(A);
#endif
  return B.nnz() == A.nnz() ? 0 : 1;
}
