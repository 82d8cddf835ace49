// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: compiled with others, clang does not tell who asked for it
// expect-error: the operator, A or M, has no `operator\*` that takes such an x
#include <sla/solve.hpp>

struct fourfold {
  using linear_operator_tag = void;
  using value_type = double;
#ifdef FIXED
  auto operator*(auto const& x) const { return 4.0 * x; }
#endif
};

int main() {
  return sla::solve(fourfold{}, sla::random<double>(16, 1), sla::cg{}).size() ? 0 : 1;
}
