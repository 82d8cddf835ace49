// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: eliminate\(D, b, fixed, values\): each rank has rows of D, over one axis
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
#ifdef FIXED
using Side = SparseShard<0, Part<>>;
#else
using Side = SparseShard<1, Part<>>;
#endif

auto f(dsparse_tensor<sparse_tensor<double>, Mesh, Side> const& D, dtensor<vector<double>, Mesh, Shard<0, Part<>>> const& b) {
  return eliminate(D, b, std::vector<int>{1}, 0.0);
}
int main() {}
