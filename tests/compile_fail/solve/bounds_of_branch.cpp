// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: behind the options stand a linear method and a preconditioner, or nothing
#include <sla/nonlinear.hpp>

int main() {
  auto const F = [](auto const& u, auto const& p) { return exp(u) - p; };
#ifdef FIXED
  return int(trace_branch(F, sla::zeros<double>(4), 1.0, sla::arclength{.steps = 2}).points.size());
#else
  return int(trace_branch(F, sla::zeros<double>(4), 1.0, sla::arclength{.steps = 2}, sla::lower{0.0}).points.size());
#endif
}
