// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: elementwise operation on tensors of different shapes
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto x = ones<double>(3);
#ifdef FIXED
  auto y = ones<double>(3);
#else
  auto y = ones<double, Extents<dyn, dyn>>({3, 1});
#endif
  auto z = x * y;
  return int(z.extents().total());
}
