// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: eigsh.A, k, wanted, options....: the number of eigenpairs comes before what is wanted
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

auto f(sla::sparse_tensor<double> const& A) {
#ifdef FIXED
  return eigsh(A, 6, sla::smallest{});
#else
  return eigsh(A, sla::smallest{}, 6);
#endif
}
int main() {}
