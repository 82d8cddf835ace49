// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: eliminate\(A, b, fixed, values\): fixed is a range of row numbers, as std::vector<int> or {0, 4}, before the values
#include <sla/solve.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({3, 3});
  auto const b = sla::ones<double>(9);
  std::vector<int> const fixed{0, 4};
#ifdef FIXED
  auto const system = eliminate(A, b, fixed, 0.0);
#else
  auto const system = eliminate(A, b, 0.0, fixed);
#endif
  return int(system.second.size()) - 9;
}
