// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a sparse tensor is the left factor; of a vector, x A is transpose.A. . x
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson({4, 4});
  auto const x = sla::ones<double>(16);
#ifdef FIXED
  sla::vector<double> y = transpose(A) * x;
#else
  sla::vector<double> y = x * A;
#endif
  return y.size() == 16 ? 0 : 1;
}
