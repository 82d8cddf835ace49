// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: pending: wait\(\) takes the value out: write std::move\(p\)\.wait\(\)
#include <sla/dist/step/pending.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 2>>;
using Rows = dtensor<vector<double>, Mesh, Shard<0>>;

auto f(Rows const& x) {
  auto p = all_gather<"tp">(x, async);
#ifdef FIXED
  return std::move(p).wait();
#else
  return p.wait();
#endif
}
int main() {}
