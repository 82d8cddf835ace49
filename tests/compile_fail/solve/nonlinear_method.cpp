// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the third argument is a method, such as newton{}
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u) { return exp(u) - 2.0; };
#ifdef FIXED
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton{}, sla::lu{}).report.converged();
#else
  return nonlinear_solve(F, sla::zeros<double>(4), sla::lu{}).report.converged();
#endif
}
