// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: b must have the extents .*batch, M, p.* of A's range
#include <sla/solve.hpp>

int main() {
  auto A = sla::to_batch<2>(sla::problems::poisson({4, 4}));
#ifdef FIXED
  auto b = sla::random<double, sla::Extents<2, sla::dyn>>({2, 16}, 1);
#else
  auto b = sla::random<double>(16, 1);
#endif
  return sla::solve(A, b, sla::cg{}).size() ? 0 : 1;
}
