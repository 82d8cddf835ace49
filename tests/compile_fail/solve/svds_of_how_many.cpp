// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: svds.A, k, wanted, options.*: .*which is largest.. or smallest..
#include <sla/solve.hpp>
#include <sla/solve/eigen/svds.hpp>

auto f(sla::sparse_tensor<double> const& A) {
#ifdef FIXED
  return std::pair(sla::svds(A, 6L, sla::smallest{}), sla::svds(A, 2));
#else
  return svds(A, sla::smallest{});
#endif
}
int main() {}
