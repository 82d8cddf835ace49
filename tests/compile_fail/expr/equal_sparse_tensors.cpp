// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: A == B of sparse tensors: rounding decides; norm.A - B. <= tolerance compares them
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
  auto const B = 2.0 * A - A;
#ifdef FIXED
  return norm(A - B) <= 1e-12 ? 0 : 1;
#else
  return A == B ? 0 : 1;
#endif
}
