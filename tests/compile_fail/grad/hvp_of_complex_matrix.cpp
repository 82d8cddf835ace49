// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Second derivatives go through complex vectors, and not through complex matrices that depend on the argument: hvp takes the gradient of f at dual numbers, as here.
// expect-error: sla: hvp\(f, x, v\): f makes a complex sparse tensor of x
#include <complex>

#include <sla/grad.hpp>
#include <sla/tensor/problems/problems.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({6});
#ifdef FIXED
  auto const f = [](auto const& a) { return sum(diagonal_of(a)); };
#else
  auto const f = [](auto const& a) { return squared_norm(diagonal_of(std::complex<double>(0.0, 1.0) * a)); };
#endif
  auto const found = sla::value_and_gradient(f, sla::cast<sla::dual_number<double>>(A));
  return int(std::get<1>(found).nnz());
}
