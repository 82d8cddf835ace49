// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A traced number in a double would lose its trace.
// expect-error: a traced value does not convert to a plain one: write .auto., or .auto x = eval\(...\).
#include <sla/grad/call/gradient.hpp>

double slope(sla::vector<double> const& b) {
  auto const f = [](auto const& x) {
#ifdef FIXED
    auto s = eval(squared_norm(x));
#else
    double s = squared_norm(x);
#endif
    return 0.5 * s;
  };
  auto const [value, g] = sla::value_and_gradient(f, b);
  return g[0] + value;
}
