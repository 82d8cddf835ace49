// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: apply.x, y. takes a std::span<T const> and a std::span<T>, and writes y = A x
#include <sla/solve.hpp>

int main() {
#ifdef FIXED
  sla::linear_operator<double> A(16, 16, [](std::span<double const> x, std::span<double> y) { std::copy(x.begin(), x.end(), y.begin()); });
#else
  sla::linear_operator<double> A(16, 16, [](sla::vector<double> const& x) { return x; });
#endif
  return A.rows() == 16 ? 0 : 1;
}
