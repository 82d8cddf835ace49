// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A is one matrix with scalar entries
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

int main() {
  auto const A = sla::to_batch<2>(sla::problems::poisson<double>({4}));
#ifdef FIXED
  return int(sla::eigsh(sla::batch_item(A, 0), 1, sla::smallest{}, sla::lobpcg{}).values[0]);
#else
  return int(sla::eigsh(A, 1, sla::smallest{}, sla::lobpcg{}).values[0]);
#endif
}
