// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: lobpcg finds smallest.. or largest.. values
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({4});
#ifdef FIXED
  return int(sla::eigsh(A, 1, sla::largest{}, sla::lobpcg{}).values[0]);
#else
  return int(sla::eigsh(A, 1, sla::near{1.0}, sla::lobpcg{}).values[0]);
#endif
}
