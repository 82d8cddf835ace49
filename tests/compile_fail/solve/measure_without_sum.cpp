// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: solve\(A, b, method\): the measure of the method has no member `sum`
#include <sla/solve.hpp>

struct own_measure : sla::residual_of_system {
#ifndef FIXED
  template <class... All>
  static void sum(All&...) {}
#endif
};
struct own_cg : sla::cg {
  using measure = own_measure;
};

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
  return sla::try_solve(A, sla::ones<double>(A.rows()), own_cg{}).report.converged() ? 0 : 1;
}
