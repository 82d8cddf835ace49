// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: temporary implicitly bound to local reference will be destroyed
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/arrange/transpose.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  double sum = 0;
#ifdef FIXED
  auto const At = transposed(A);
  for (double v : At.values()) sum += v;
#else
  for (double v : transposed(A).values()) sum += v;
#endif
  return sum > 0 ? 0 : 1;
}
