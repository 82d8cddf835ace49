// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: give lower{..}, upper{..}, or one of each
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u) { return exp(u) - 2.0; };
#ifdef FIXED
  return solve_bounded(F, sla::zeros<double>(4), sla::upper{1.0}, sla::lower{0.0}, sla::active_set{}).report.converged();
#else
  return solve_bounded(F, sla::zeros<double>(4), sla::active_set{}).report.converged();
#endif
}
