// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: F.u, parameters.... is a tensor or an expression of one
#include <sla/nonlinear.hpp>

int main() {
#ifdef FIXED
  auto const F = [](auto const& u) { return exp(u) - 2.0; };
#else
  auto const F = [](auto const& u) { return sum(exp(u)) - 2.0; };
#endif
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton{}).report.converged();
}
