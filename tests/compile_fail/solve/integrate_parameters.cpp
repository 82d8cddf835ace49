// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: f takes u, t, and as many parameters as are given
#include <sla/integrate.hpp>

int main() {
#ifdef FIXED
  auto const f = [](auto const& u, double, auto const& k) { return -k * u; };
#else
  auto const f = [](auto const& u, auto const& k) { return -k * u; };
#endif
  return integrate(f, sla::zeros<double>(4), {0.0, 1.0}, sla::theta{}, 2.0).report.converged();
}
