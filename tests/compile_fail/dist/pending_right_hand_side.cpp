// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E06\]: a pending sum \(Partial\) meets values that differ
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(Matrix_ const& D, dtensor<vector<double>, Mesh, Partial<>> const& b) {
#ifdef FIXED
  return solve(D, reduce_scatter<"rows", Shard<0, Part<>>>(b, D.row_layout()), cg{});
#else
  return solve(D, b);
#endif
}
int main() {}
