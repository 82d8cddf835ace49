// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: solve\(A, b, method\): the measure of the method has no member `numbers`
#include <sla/solve.hpp>

struct error_of_normal_equations : sla::residual_of_normal_equations {
#ifndef FIXED
  template <class S, class A, class V>
  static auto numbers(S& space, A const& a, V const& b) {
    return fuse(space, squared_norm_of(adjoint(a) * b));
  }
#endif
};
struct own_cg : sla::cg {
  using measure = error_of_normal_equations;
};

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
  return sla::try_solve(A, sla::ones<double>(A.rows()), own_cg{}).report.converged() ? 0 : 1;
}
