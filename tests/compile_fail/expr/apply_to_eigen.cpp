// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: apply\(f, x...\): first the function, then tensors and numbers.* An array of another library comes over by borrow
#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>

int main() {
  Eigen::VectorXd e = Eigen::VectorXd::Ones(16);
  auto const f = [](auto a) { return a * a; };
#ifdef FIXED
  sla::vector<double> const c = sla::apply(f, sla::borrow(e.data(), e.size()));
#else
  sla::vector<double> const c = sla::apply(f, e);
#endif
  return c.size() == 16 ? 0 : 1;
}
