// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: an array of numbers is no tensor: borrow.v.data.., n.
#include <vector>
#include <sla/solve.hpp>

int main() {
  std::vector<double> const v{3, 4};
#ifdef FIXED
  double const n = norm(sla::borrow(v.data(), 2));
#else
  double const n = sla::norm(v);
#endif
  return n == 5 ? 0 : 1;
}
