// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: value_and_gradient.f, args....: give the arguments
#include <sla/grad.hpp>

auto f(sla::vector<double> const& x) {
#ifdef FIXED
  return sla::value_and_gradient([](auto const& y) { return dot(y, y); }, x);
#else
  return (void)x, sla::value_and_gradient([](auto const& y) { return dot(y, y); });
#endif
}
int main() {}
