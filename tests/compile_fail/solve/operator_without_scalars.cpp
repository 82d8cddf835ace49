// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: compiled with others, clang does not tell who asked for it
// expect-error: the operator has no member `value_type`
#include <sla/solve.hpp>

struct thrice {
  using linear_operator_tag = void;
#ifdef FIXED
  using value_type = double;
#endif
  auto operator*(auto const& x) const { return 3.0 * x; }
};

int main() {
  return sla::solve(thrice{}, sla::random<double>(16, 1), sla::cg{}).size() ? 0 : 1;
}
