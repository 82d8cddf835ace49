// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: name one method, semismooth_newton{} or active_set{}
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u) { return exp(u) - 2.0; };
#ifdef FIXED
  return solve_bounded(F, sla::zeros<double>(4), sla::lower{0.0}, sla::active_set{}).report.converged();
#else
  return solve_bounded(F, sla::zeros<double>(4), sla::lower{0.0}, sla::newton{}).report.converged();
#endif
}
