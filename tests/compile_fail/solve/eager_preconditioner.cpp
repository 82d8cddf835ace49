// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: solve prints the types of its arguments, and the sentence is that of other programs
// expect-error: a preconditioner .of yours, a linear_operator, or options with a .preconditioner_tag..
#include <algorithm>
#include <span>
#include <sla/solve.hpp>

int main() {
  struct scaling {
    sla::vector<double> operator*(sla::vector<double> const& x) const { return 0.25 * x; }
  };
  auto const A = sla::problems::poisson({4, 4});
  auto const b = sla::ones<double>(16);
#ifdef FIXED
  sla::linear_operator<double> const M(16, 16, [](std::span<double const> x, std::span<double> y) { std::copy(x.begin(), x.end(), y.begin()); }, sla::self_adjoint);
#else
  scaling const M;
#endif
  auto const x = solve(A, b, sla::cg{}, M);
  return x.size() == 16 ? 0 : 1;
}
