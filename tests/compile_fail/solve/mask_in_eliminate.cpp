// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: eliminate\(A, b, fixed, values\): fixed is a range of row numbers.*of a mask, list where it is true
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({3, 3});
  auto const b = sla::ones<double>(9);
  std::vector<int> const fixed{0, 4};
#ifdef FIXED
  auto const system = eliminate(A, b, fixed, 0.0);
#else
  auto const system = eliminate(A, b, b > 0.5, 0.0);
#endif
  return int(system.second.size()) - 9;
}
