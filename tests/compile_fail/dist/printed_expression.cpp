// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: std::cout << x of an expression on ranks
#include <sla/dist.hpp>
#include <iostream>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

void f(Rows const& x) {
#ifdef FIXED
  std::cout << eval(x + x);
#else
  std::cout << x + x;
#endif
}
int main() {}
