// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: x is an array of numbers, not a tensor: borrow.x.data.., n.
#include <vector>

#include <sla/solve.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  std::vector<double> v(16, 1.0);
#ifdef FIXED
  sla::vector<double> y = A * sla::borrow(v.data(), 16);
#else
  sla::vector<double> y = A * v;
#endif
  return y.size() == 16 ? 0 : 1;
}
