// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: apply\(f, x...\): first the function, then tensors and numbers
#include <sla/exec/evaluate.hpp>

int main() {
  auto const b = sla::random<double>(16, 1);
  auto const f = [](auto a) { return a * a; };
#ifdef FIXED
  sla::vector<double> const c = apply(f, b);
#else
  sla::vector<double> const c = apply(b, f);
#endif
  return c.size() == 16 ? 0 : 1;
}
