// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: condition_estimate.A.: A is a sparse tensor in host memory
#include <algorithm>
#include <span>
#include <sla/solve.hpp>

int main() {
  sla::linear_operator<double> const A(4, 4, [](std::span<double const> x, std::span<double> y) { std::copy(x.begin(), x.end(), y.begin()); });
#ifdef FIXED
  auto const kappa = condition_estimate(sla::to<sla::Csr<>>(to_dense(A)));
#else
  auto const kappa = condition_estimate(A);
#endif
  return kappa > 0 ? 0 : 1;
}
