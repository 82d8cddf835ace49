// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: all_reduce<axis>\(x\): name the axis of the mesh
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(Rows const& b) {
#ifdef FIXED
  return all_reduce<"rows">(dot(b, b));
#else
  return all_reduce(dot(b, b));
#endif
}
int main() {}
