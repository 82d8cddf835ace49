// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: f is called with dual numbers: write it with auto
#include <sla/grad.hpp>

int main() {
  auto const x = sla::ones<double>(16);
  auto const f = [](auto const& a) {
#ifdef FIXED
    return sum(apply([](auto v) { return v * v; }, a));
#else
    return sum(apply([](double v) { return v * v; }, a));
#endif
  };
  auto const [value, g] = sla::value_and_gradient(f, x);
  return double(value) == 16 && g[0] == 2 ? 0 : 1;
}
