// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: pending_operand needs the same instance of the sentence
// expect-error: sla: this value is still on its way: take it out first
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(Rows const& x) {
  auto p = all_gather<"rows">(x, async);
#ifdef FIXED
  return norm(std::move(p).wait());
#else
  return norm(p);
#endif
}
int main() {}
