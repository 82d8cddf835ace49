// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the value of an expression is eval\(e\)
#include <sla/dist.hpp>

using namespace sla;
using Column = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

void f(Column const& x) {
#ifdef FIXED
  save("state", eval(2.0 * x));
#else
  save("state", 2.0 * x);
#endif
}
int main() {}
