// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one of each; two methods or two preconditioners were given
#include <sla/solve.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::ones<double>(16);
#ifdef FIXED
  auto x = sla::solve(A, b, sla::cg{}, sla::jacobi{});
#else
  auto x = sla::solve(A, b, sla::cg{}, sla::jacobi{}, sla::ilu0{});
#endif
  return x[0] > 0 ? 0 : 1;
}
