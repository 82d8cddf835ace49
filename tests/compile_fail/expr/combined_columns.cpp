// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: C has other rows than V has columns
#include <sla/exec/evaluate.hpp>

int main() {
  auto const V = sla::random<double, sla::Extents<sla::dyn, 4>>({20, 4}, 1);
#ifdef FIXED
  sla::small_matrix<double, 4, 3> const C{};
#else
  sla::small_matrix<double, 3, 3> const C{};
#endif
  sla::tensor<double, sla::Extents<sla::dyn, 3>> const W = combine(V, C);
  return W.size() == 60 ? 0 : 1;
}
