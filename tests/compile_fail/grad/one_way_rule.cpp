// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rule that pulls back only would leave forward mode without it.
// expect-error: a rule serves both modes
#include <sla/grad/call/gradient.hpp>

double slope(double at) {
  auto const twice = [](auto const& x) {
    auto const pullback = [](double, double g) { return 2 * g; };
#ifdef FIXED
    auto const pushforward = [](double, double d) { return 2 * d; };
    return sla::record(x.home(), 2 * x.value(), sla::linear_in(x, pullback, pushforward));
#else
    return sla::record(x.home(), 2 * x.value(), pullback);
#endif
  };
  auto const [value, g] = sla::value_and_gradient(twice, at);
  return g;
}
