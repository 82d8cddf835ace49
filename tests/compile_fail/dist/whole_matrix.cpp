// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: A \* x: x is distributed and A is a matrix of one rank
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(sparse_tensor<double> const& A, Mesh const& m, vector<double> const& b) {
  auto const D = distribute<SparseShard<0>>(A, m, strips{});
  auto const x = distribute(b, D.col_layout());
#ifdef FIXED
  return eval(D * x);
#else
  return eval(A * x);
#endif
}
int main() {}
