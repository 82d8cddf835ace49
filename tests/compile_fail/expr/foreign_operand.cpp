// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one of the operands is an array of numbers, not a tensor: borrow.y.data.., n.
#include <vector>

#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(16);
  std::vector<double> v(16, 1.0);
#ifdef FIXED
  sla::vector<double> y = sla::borrow(v.data(), 16) - 2.0 * x;
#else
  sla::vector<double> y = v - 2.0 * x;
#endif
  return y.size() == 16 ? 0 : 1;
}
