// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: b a tensor or an expression in the memory of A .numbers of yours: borrow.v.data.., n..
#include <vector>

#include <sla/solve.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  std::vector<double> v(16, 1.0);
#ifdef FIXED
  auto x = sla::solve(A, sla::borrow(v.data(), 16));
#else
  auto x = sla::solve(A, v);
#endif
  return x.size() == 16 ? 0 : 1;
}
