// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A is an operator of yours, without entries that this method or preconditioner could read
#include <sla/solve.hpp>

int main() {
  sla::linear_operator<double> A(16, 16, [](auto x, auto y) { std::copy(x.begin(), x.end(), y.begin()); });
  auto b = sla::random<double>(16, 1);
#ifdef FIXED
  return sla::solve(A, b, sla::fgmres{}, sla::inner(sla::cg{})).size() ? 0 : 1;
#else
  return sla::solve(A, b, sla::fgmres{}, sla::inner(sla::cg{}, sla::ic0{})).size() ? 0 : 1;
#endif
}
