// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: F takes u and as many parameters as are given
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u) { return exp(u) - 2.0; };
#ifdef FIXED
  return solve_bounded(F, sla::zeros<double>(4), sla::lower{0.0}).report.converged();
#else
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton{}, sla::lower{0.0}).report.converged();
#endif
}
