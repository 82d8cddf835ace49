// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: eigsh.A, k, wanted, options.*: .*which is smallest.., largest.., largest_magnitude.. or near.sigma.
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

auto f(sla::sparse_tensor<double> const& A) {
#ifdef FIXED
  return eigsh(A, 6L, sla::smallest{}, sla::lobpcg{});
#else
  return eigsh(A, 6, sla::lobpcg{});
#endif
}
int main() {}
