// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: apply\(f, A\) of a sparse tensor: f of what is not stored need not be 0; of the stored values, say with_values
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
  auto const f = [](auto a) { return a * a; };
#ifdef FIXED
  auto const B = with_values(A, apply(f, values(A)));
#else
  auto const B = apply(f, A);
#endif
  return B.nnz() == A.nnz() ? 0 : 1;
}
