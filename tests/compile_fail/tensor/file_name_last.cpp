// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: write_matrix_market.where, A.: the path or stream comes first
#include <iostream>
#include <sla/tensor/files/matrix_market_write.hpp>
#include <sla/tensor/problems/problems.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({2, 2});
#ifdef FIXED
  sla::write_matrix_market(std::cout, A);
#else
  sla::write_matrix_market(A, "A.mtx");
#endif
  return 0;
}
