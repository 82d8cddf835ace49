// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenvalues of matrices that are not symmetric have first derivatives: hvp takes the gradient of f at dual numbers, as here.
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
  auto const found = sla::value_and_gradient(f, sla::cast<sla::dual_number<double>>(A));
  return int(std::get<1>(found).nnz());
}
