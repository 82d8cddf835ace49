// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: all of them are wanted, static ones too
#include <sla/tensor/storage/dense.hpp>

int main() {
#ifdef FIXED
  sla::tensor<double, sla::Extents<sla::dyn, 2>> x({5, 2});
#else
  sla::tensor<double, sla::Extents<sla::dyn, 2>> x({5});
#endif
  return int(x.size()) - 10;
}
