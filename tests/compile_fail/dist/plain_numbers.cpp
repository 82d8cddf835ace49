// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E35\]: an operand has no placement
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Sharded = dtensor<vector<double>, Mesh, Shard<0>>;

auto f(Sharded const& s, std::vector<double> const& v) {
#ifdef FIXED
  return eval(s + distribute(borrow(v.data(), index_t(v.size())), s.layout()));
#else
  return s + v;
#endif
}
int main() {}
