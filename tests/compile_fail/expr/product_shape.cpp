// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: x must have the extents .\*batch, N, q. of A
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  sparse_tensor<double, Shape<Batch<>, 3, 4, Block<>>> A;
#ifdef FIXED
  tensor<double, Extents<4>> x;
#else
  tensor<double, Extents<3>> x;
#endif
  auto y = A * x;
  return int(y.extents().total());
}
