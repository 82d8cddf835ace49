// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tangent is of the type of its argument.
// expect-error: a tangent is of the type of its argument
#include <sla/grad/call/jvp.hpp>

double slope(sla::vector<double> const& x, sla::vector<double> const& d) {
  auto const f = [](auto const& u) { return sum(u * u); };
#ifdef FIXED
  auto const [value, tangent] = sla::jvp(f, std::tie(x), std::tie(d));
#else
  auto const [value, tangent] = sla::jvp(f, std::tie(x), std::tuple(1.0));
#endif
  return value + tangent;
}
