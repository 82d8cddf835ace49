// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: indices, counts and flags stay in a std::vector<int>
#include <sla/tensor/storage/dense.hpp>
#include <vector>

int main() {
#ifdef FIXED
  std::vector<int> const x(3);
#else
  sla::vector<int> const x(3);
#endif
  return int(x.size()) - 3;
}
