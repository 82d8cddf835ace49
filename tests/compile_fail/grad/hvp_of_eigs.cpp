// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenvalues of matrices that are not symmetric have first derivatives.
// expect-error: sla: hvp: eigs\(A, B, k, ...\) has no second derivatives
#include <sla/eigenvalues.hpp>
#include <sla/tensor/problems/problems.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({6});
#ifdef FIXED
  auto const f = [](auto const& a) { return sum(diagonal_of(a)); };
#else
  auto const f = [&](auto const& b) { return squared_norm(eigs(A, b, 2, sla::largest_magnitude{}).values); };
#endif
  return int(sla::hvp(f, A, A).nnz());
}
