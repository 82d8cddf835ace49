// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: what is traced it gets as a parameter, and does not catch
#include <sla/nonlinear.hpp>

int main() {
  sla::tape t;
  sla::traced<double> const a(t, t.input(3.0));
#ifdef FIXED
  return nonlinear_solve([](auto const& u, auto const& b) { return b * exp(u) - 2.0; }, sla::zeros<double>(4), sla::newton{}, a).report.converged();
#else
  return nonlinear_solve([&](auto const& u) { return a * exp(u) - 2.0; }, sla::zeros<double>(4), sla::newton{}).report.converged();
#endif
}
