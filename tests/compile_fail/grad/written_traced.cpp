// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: traced values are not written to; compute another: auto z = keep \* y
#include <sla/grad/call/gradient.hpp>

double twice(sla::vector<double> const& b) {
  sla::vector<double> keep = sla::ones<double>(b.size());
  keep[0] = 0.0;
  auto const f = [&](auto const& x) {
    auto y = eval(2.0 * x);
#ifdef FIXED
    return sum(keep * y);
#else
    y[0] = 0.0;
    return sum(y);
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, b));
}
