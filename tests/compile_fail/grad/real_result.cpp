// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The function of value_and_gradient returns one real number.
// expect-error: f must return one real number; reduce with sum, dot or squared_norm, and take real\(...\) of a complex one
#include <sla/grad/call/gradient.hpp>

double slope(sla::vector<double> const& b) {
  auto const f = [](auto const& x) {
#ifdef FIXED
    return sum(exp(x));
#else
    return exp(x);
#endif
  };
  auto const [value, g] = sla::value_and_gradient(f, b);
  return g[0];
}
