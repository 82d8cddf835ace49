// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a lambda that captures numbers, pointers or references, no std::function
#include <functional>
#include <sla/solve.hpp>

int main() {
  auto const x = sla::random<double>(16, 1);
  std::function<double(double)> const f = [](double a) { return a * a; };
#ifdef FIXED
  auto const y = eval(apply([&](double a) { return f(a); }, x));
#else
  auto const y = eval(apply(f, x));
#endif
  return y.size() == 16 ? 0 : 1;
}
