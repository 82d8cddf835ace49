// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// jvp wants one tangent for each argument.
// expect-error: give one tangent for each argument
#include <sla/grad/call/jvp.hpp>

double slope(sla::vector<double> const& x, sla::vector<double> const& d) {
  auto const f = [](auto const& u, auto const& v) { return sum(u * v); };
#ifdef FIXED
  auto const [value, tangent] = sla::jvp(f, std::tie(x, x), std::tie(d, d));
#else
  auto const [value, tangent] = sla::jvp(f, std::tie(x, x), std::tie(d));
#endif
  return value + tangent;
}
