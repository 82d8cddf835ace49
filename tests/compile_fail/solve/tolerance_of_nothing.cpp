// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a number is neither a right-hand side nor an option: a tolerance belongs to its method
#include <sla/solve.hpp>

auto f(sla::sparse_tensor<double> const& A, sla::vector<double> const& b) {
#ifdef FIXED
  return solve(A, b, sla::cg{.rtol = 1e-8});
#else
  return solve(A, b, 1e-8);
#endif
}
int main() {}
