// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E07\]: .* of a pending maximum or minimum not even a multiple is one, for a factor may be negative
// apart: the sentence of E07 is that of another program.
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;

auto f(dtensor<vector<double>, Mesh, Partial<Max>> const& x) {
#ifdef FIXED
  return eval(2.0 * all_reduce<"tp">(x));
#else
  return eval(2.0 * x);
#endif
}
int main() {}
