// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a comparison of a sparse tensor, or where\(c, x, y\) of one: compare the stored values
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<float>({4, 4});
#ifdef FIXED
  auto const B = with_values(A, where(values(A) > 0.0f, values(A), 0.0f));
#else
  auto const B = where(A > 0.0f, A, 0.0f);
#endif
  (void)B;
}
