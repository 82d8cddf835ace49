// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the product of a matrix and a vector is that of a sparse one, to<Csr<>>.D. . x
#include <sla/solve.hpp>

int main() {
  auto const x = sla::ones<double>(2);
  sla::matrix<double> const D{{1, 2}, {3, 4}};
#ifdef FIXED
  sla::vector<double> const y = sla::to<sla::Csr<>>(D) * x;
#else
  auto const y = eval(D * x);
#endif
  return int(y.size()) - 2;
}
