// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: D \* E of distributed matrices: both are sharded by rows
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;
using Columns = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<1, Part<>>>;

auto f(Rows const& D, [[maybe_unused]] Columns const& E) {
#ifdef FIXED
  return D * D;
#else
  return D * E;
#endif
}
int main() {}
