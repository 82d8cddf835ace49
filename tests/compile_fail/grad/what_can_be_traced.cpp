// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments are tensors, sparse tensors and numbers.
// expect-error: only numbers, tensors and sparse tensors of floating point can be differentiated
#include <string>

#include <sla/grad/call/gradient.hpp>

double slope(std::string const& name, double s) {
#ifdef FIXED
  auto const [value, g] = sla::value_and_gradient([&](auto const& x) { return double(name.size()) * x; }, s);
#else
  auto const [value, g, gs] = sla::value_and_gradient([&](auto const&, auto const& x) { return double(name.size()) * x; }, name, s);
#endif
  return value;
}
