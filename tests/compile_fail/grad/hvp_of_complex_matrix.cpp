// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Second derivatives go through complex vectors, and not through complex matrices that are made of the argument: hvp calls f with dual numbers, as here.
// expect-error: sla: hvp\(f, x, v\): f makes a complex sparse tensor of x
#include <complex>

#include <sla/grad.hpp>
#include <sla/tensor/problems/problems.hpp>

int main() {
  auto const a = sla::cast<sla::dual_number<double>>(sla::problems::poisson<double>({6}));
#ifdef FIXED
  auto const turned = sla::eval(2.0 * values(a));
#else
  auto const turned = sla::eval(std::complex<double>(0.0, 1.0) * values(a));
#endif
  return int(with_values(a, turned).nnz());
}
