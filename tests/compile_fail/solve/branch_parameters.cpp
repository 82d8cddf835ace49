// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: behind the options stand a linear method and a preconditioner, or nothing, and on.make_space., on ranks jacobian_on.D.; other parameters F catches
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u, auto const& lambda) { return u * u + lambda - 2.0; };
#ifdef FIXED
  return trace_branch(F, sla::ones<double>(4), 1.0, sla::arclength{}, sla::lu{}).report.converged();
#else
  return trace_branch(F, sla::ones<double>(4), 1.0, sla::arclength{}, 5.0).report.converged();
#endif
}
