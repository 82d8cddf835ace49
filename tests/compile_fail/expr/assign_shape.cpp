// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the expression has another shape than x
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto x = ones<double, Extents<dyn, 3>>({2, 3});
#ifdef FIXED
  tensor<double, Extents<2, dyn>> y = 2 * x;
#else
  tensor<double, Extents<dyn, 4>> y = 2 * x;
#endif
  return int(y.size());
}
