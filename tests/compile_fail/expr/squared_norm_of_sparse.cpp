// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: squared_norm.A. of a sparse tensor: squared_norm.values.A.., and norm.A. is its root
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
#ifdef FIXED
  return squared_norm(values(A)) > 0 ? 0 : 1;
#else
  return squared_norm(A) > 0 ? 0 : 1;
#endif
}
