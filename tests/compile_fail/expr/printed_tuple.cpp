// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: take it apart, auto .value, gradient.
#include <iostream>
#include <tuple>
#include <sla/solve.hpp>

int main() {
  std::tuple<double, sla::vector<double>> const pair{1.0, sla::ones<double>(4)};
#ifdef FIXED
  auto const& [value, gradient] = pair;
  std::cout << value << gradient;
#else
  std::cout << pair;
#endif
}
