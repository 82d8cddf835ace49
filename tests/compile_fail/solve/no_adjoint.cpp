// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: another program needs the same instance of the sentence
// expect-error: gradients need the adjoint of A and of the preconditioner, and an operator of yours has none
#include <sla/solve.hpp>

struct twice {
  using linear_operator_tag = void;
  using value_type = double;
  auto operator*(auto const& x) const { return 2.0 * x; }
#ifdef FIXED
  twice adjoint() const { return *this; }
#endif
};

int main() {
  auto b = sla::random<double>(16, 1);
  return sla::prepare(twice{}, sla::gmres{}).solve_transpose(b).size() ? 0 : 1;
}
