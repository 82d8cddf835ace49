// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A complex number has no gradient in this sense.
// expect-error: f must return one real number; reduce with sum, dot or squared_norm, and take real\(...\) of a complex one
#include <sla/grad/call/gradient.hpp>

double size(sla::vector<std::complex<double>> const& b) {
  auto const f = [](auto const& x) {
#ifdef FIXED
    return real(sum(x));
#else
    return sum(x);
#endif
  };
  auto const [value, g] = sla::value_and_gradient(f, b);
  return value;
}
