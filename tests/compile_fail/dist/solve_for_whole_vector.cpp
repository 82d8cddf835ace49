// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: solve\(D, b\): D is distributed and b is a vector of one rank
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;

auto f(sparse_tensor<double> const& A, vector<double> const& b, Mesh const& m) {
  auto const D = distribute<SparseShard<0>>(A, m, strips{});
  [[maybe_unused]] auto const db = distribute(b, D.row_layout());
#ifdef FIXED
  return solve(D, db, cg{}, jacobi{});
#else
  return solve(D, b, cg{}, jacobi{});
#endif
}
int main() {}
