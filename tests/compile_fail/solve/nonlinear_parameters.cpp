// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: F takes u and as many parameters as are given
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u, auto const& a) { return a * exp(u) - 2.0; };
#ifdef FIXED
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton{}, 3.0).report.converged();
#else
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton{}).report.converged();
#endif
}
