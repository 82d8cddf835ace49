// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the fourth argument is a method, theta{.implicitness = 0.5} or bdf2{}
#include <sla/integrate.hpp>

int main() {
  auto const f = [](auto const& u, double) { return -1.0 * u; };
#ifdef FIXED
  return integrate(f, sla::zeros<double>(4), {0.0, 1.0}, sla::bdf2{}).report.converged();
#else
  return integrate(f, sla::zeros<double>(4), {0.0, 1.0}, sla::newton{}).report.converged();
#endif
}
