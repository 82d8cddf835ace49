// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: newton{} and pseudo_transient{} take a linear method and a preconditioner behind them
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u) { return exp(u) - 2.0; };
#ifdef FIXED
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton_krylov{.precondition = sla::jacobi{}}).report.converged();
#else
  return nonlinear_solve(F, sla::zeros<double>(4), sla::newton_krylov{}, sla::jacobi{}).report.converged();
#endif
}
