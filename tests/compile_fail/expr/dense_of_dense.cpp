// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: x is dense already: eval.x. stores an expression
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  sla::vector<double> const x = diagonal_of(A);
#ifdef FIXED
  auto const y = eval(2.0 * x);
#else
  auto const y = eval(to_dense(2.0 * x));
#endif
  return y.size() == 16 ? 0 : 1;
}
