// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E07\]: this operation is not additive
#include <sla/dist.hpp>

using namespace sla;
using Rows = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

int f(Rows const& r) {
#ifdef FIXED
  if (all_reduce<"rows">(dot(r, r)) < 1e-3) return 1;
#else
  if (dot(r, r) < 1e-3) return 1;
#endif
  return 0;
}
int main() {}
