// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gradient inside of a differentiated function would be of second order.
// expect-error: second derivatives are not offered
#include <sla/grad/call/gradient.hpp>

double slope(sla::vector<double> const& b) {
  auto const inner = [](auto const& x) { return squared_norm(x); };
  auto const outer = [&](auto const& x) {
#ifdef FIXED
    auto const [value, g] = sla::value_and_gradient(inner, x.value());
#else
    auto const [value, g] = sla::value_and_gradient(inner, x);
#endif
    return sum(x) * value;
  };
  auto const [value, g] = sla::value_and_gradient(outer, b);
  return value;
}
