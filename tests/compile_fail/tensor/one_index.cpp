// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: A.i. of a sparse tensor: an entry is A.i, j.
#include <sla/tensor/build/build.hpp>

int main() {
  auto const A = sla::from_triplets<double>(2, 2, {0}, {1}, {3.0});
#ifdef FIXED
  return A(0, 1) == 3 && A.values()[0] == 3 ? 0 : 1;
#else
  A[0];
  return 0;
#endif
}
