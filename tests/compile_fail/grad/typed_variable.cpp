// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A traced value in a plain variable would lose its trace.
// expect-error: a traced value does not convert to a plain one: write .auto., or .auto x = eval\(...\).
#include <sla/grad/call/gradient.hpp>

double slope(sla::vector<double> const& b) {
  auto const f = [](auto const& x) {
#ifdef FIXED
    auto y = 2.0 * x;
#else
    sla::vector<double> y = 2.0 * x;
#endif
    return squared_norm(y);
  };
  auto const [value, g] = sla::value_and_gradient(f, b);
  return g[0] + value;
}
