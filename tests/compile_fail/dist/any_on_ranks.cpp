// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the number of places where c holds is
#include <sla/dist.hpp>

using namespace sla;
using Column = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

bool f(Column const& x) {
#ifdef FIXED
  return all_reduce<"rows">(sum(where(x > 0.5, 1.0, 0.0))).value() > 0;
#else
  return any(x > 0.5);
#endif
}
int main() {}
