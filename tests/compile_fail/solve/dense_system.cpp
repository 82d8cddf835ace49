// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A is a dense matrix, and the library solves with sparse ones
#include <sla/solve.hpp>

int main() {
  auto const b = sla::ones<double>(2);
  sla::matrix<double> const A{{1, 2}, {3, 4}};
#ifdef FIXED
  auto const x = solve(sla::to<sla::Csr<>>(A), b, sla::lu{});
#else
  auto const x = solve(A, b);
#endif
  return int(x.size()) - 2;
}
