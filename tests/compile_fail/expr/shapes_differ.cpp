// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: elementwise operation on tensors of different shapes
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  tensor<double, Extents<3>> x;
#ifdef FIXED
  tensor<double, Extents<3>> y;
#else
  tensor<double, Extents<4>> y;
#endif
  auto z = x + y;
  return int(z.extents().total());
}
