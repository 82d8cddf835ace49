// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::sqrt takes a double, and the trace would be lost.
// expect-error: a traced value does not convert to a plain one: .* and sqrt\(x\), not std::sqrt\(x\)
// apart: it is the conversion of typed_number.cpp, of which compilers complain once.
#include <sla/grad/call/gradient.hpp>

double length(sla::vector<double> const& b) {
  auto const f = [](auto const& x) {
#ifdef FIXED
    return sqrt(dot(x, x));
#else
    return std::sqrt(dot(x, x));
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, b));
}
