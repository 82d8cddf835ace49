// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the operands live in different memories
#include <sla/exec/evaluate.hpp>

using namespace sla;

struct other_memory : host_memory {};

int main() {
  auto x = ones<double>(3);
#ifdef FIXED
  vector<double> y(3);
#else
  vector<double, other_memory> y(Extents<dyn>(3));
#endif
  auto z = x + y;
  return int(z.extents().total());
}
