// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: D - E of distributed matrices is not there yet
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(Matrix_ const& D, [[maybe_unused]] Rows const& x) {
#ifdef FIXED
  return eval(D * x - transpose(D) * x);
#else
  return D - transpose(D);
#endif
}
int main() {}
