// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: another program needs the same instance of the sentence
// expect-error: give the function that computes to linear_operator<T>.rows, cols, apply.
#include <sla/solve.hpp>

struct half {
  using linear_operator_tag = void;
#ifdef FIXED
  auto operator*(auto const& x) const { return 0.5 * x; }
#else
  sla::vector<double> operator*(sla::vector<double> const& x) const { return 0.5 * x; }
#endif
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  return sla::solve(A, sla::random<double>(16, 1), sla::cg{}, half{}).size() ? 0 : 1;
}
