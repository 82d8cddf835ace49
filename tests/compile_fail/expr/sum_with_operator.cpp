// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: arithmetic on a linear_operator: it is known by its products A . x alone
#include <sla/solve.hpp>

int main() {
  sla::linear_operator<double> const M(4, 4, [](auto x, auto y) { std::copy(x.begin(), x.end(), y.begin()); });
  auto const A = sla::problems::poisson<double>({2, 2});
#ifdef FIXED
  auto const K = A + sla::to<sla::Csr<>>(to_dense(M));
#else
  auto const K = A + M;
#endif
  return K.rows() == 4 ? 0 : 1;
}
