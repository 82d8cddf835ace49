// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: eigs.A, k, wanted, options.*: .*which is largest_magnitude.., largest.., smallest.. or near.sigma.
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigs.hpp>

auto f(sla::sparse_tensor<double> const& A) {
#ifdef FIXED
  return std::pair(sla::eigs(A, 6L, sla::largest{}), sla::eigs(A, 2));
#else
  return eigs(A, sla::largest{});
#endif
}
int main() {}
