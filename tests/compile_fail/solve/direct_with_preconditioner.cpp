// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a direct or automatic method takes no preconditioner
#include <sla/solve.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
#ifdef FIXED
  return sla::solve(A, b, sla::lu{}).size() ? 0 : 1;
#else
  return sla::solve(A, b, sla::lu{}, sla::jacobi{}).size() ? 0 : 1;
#endif
}
