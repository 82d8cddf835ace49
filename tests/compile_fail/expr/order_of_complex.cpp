// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: they have no order; take abs
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto z = ones<std::complex<double>>(3);
#ifdef FIXED
  double s = (max)(abs(z));
#else
  double s = (max)(z);
#endif
  return int(s);
}
