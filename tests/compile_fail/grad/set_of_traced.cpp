// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: set\(y, x\) of a traced x: what a statement of fuse writes has no trace
#include <sla/grad/call/gradient.hpp>

double twice(sla::vector<double> const& b) {
  auto const f = [](auto const& x) {
#ifdef FIXED
    auto y = eval(2.0 * x);
#else
    sla::vector<double> y(x.size());
    fuse(set(y, 2.0 * x));
#endif
    return sum(y * x);
  };
  return std::get<0>(sla::value_and_gradient(f, b));
}
