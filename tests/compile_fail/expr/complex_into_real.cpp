// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a complex value cannot be stored in a real tensor; take real
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto z = ones<std::complex<double>>(3);
#ifdef FIXED
  vector<double> x = real(z);
#else
  vector<double> x = z + z;
#endif
  return int(x.size());
}
