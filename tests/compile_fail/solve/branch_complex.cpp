// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: trace_branch.F, u0, lambda0, arclength{}.: u has real elements
#include <sla/nonlinear.hpp>

#ifdef FIXED
using element = double;
#else
using element = std::complex<double>;
#endif

int main() {
  auto const F = [](auto const& u, auto const& lambda) { return u * u + lambda - 2.0; };
  return trace_branch(F, sla::ones<element>(4), 1.0, sla::arclength{}).report.converged();
}
