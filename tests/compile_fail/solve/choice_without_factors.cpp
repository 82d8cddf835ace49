// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: solve.A, b. picks a method, which may be one of factors: include <sla/solve.hpp>
// alone: the other programs include <sla/solve.hpp>
#include <sla/krylov.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
#ifdef FIXED
  return sla::solve(A, b, sla::cg{}, sla::jacobi{}).size() ? 0 : 1;
#else
  return sla::solve(A, b).size() ? 0 : 1;
#endif
}
