// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one value everywhere is full<double, Extents<dyn, dyn>>
#include <sla/tensor/storage/dense.hpp>

int main() {
#ifdef FIXED
  auto const x = sla::full<double, sla::Extents<sla::dyn, sla::dyn>>({3, 3}, 1.0);
#else
  sla::matrix<double> const x(3, 3, 1.0);
#endif
  return int(x.size()) - 9;
}
