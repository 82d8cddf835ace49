// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E17\]: the operands are not sharded alike
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Even4 = dtensor<vector<double>, Mesh, Shard<0>>;
using Found = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;

auto f(Even4 const& x, [[maybe_unused]] Found const& y) {
#ifdef FIXED
  return eval(where(x > 0.0, x, -x));
#else
  return eval(where(x > 0.0, x, y));
#endif
}
int main() {}
