// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: a tensor of several axes is given elements without extents; both are wanted
#include <vector>

#include <sla/tensor/storage/dense.hpp>

int main() {
  std::vector<double> const v(6);
#ifdef FIXED
  sla::tensor<double, sla::Extents<sla::dyn, 2>> x({3, 2}, v);
#else
  sla::tensor<double, sla::Extents<sla::dyn, 2>> x(v);
#endif
  return int(x.size()) - 6;
}
