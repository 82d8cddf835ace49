// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: condition_number.A.: A is one sparse tensor in host memory
#include <sla/solve.hpp>
#include <sla/solve/eigen/svds.hpp>

int main() {
  auto const A = sla::to_batch<2>(sla::problems::poisson<double>({4}));
#ifdef FIXED
  return int(condition_number(sla::batch_item(A, 0)));
#else
  return int(condition_number(A));
#endif
}
