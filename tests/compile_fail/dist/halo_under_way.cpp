// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E11\]
#include <sla/dist/step/pending.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 2>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;
#ifdef FIXED
using X = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
#else
using X = dtensor<vector<double>, Mesh, Replicate>;
#endif

auto f(X const& x, Matrix_ const& A) {
  return halo_exchange<"tp">(x, A, async);
}
int main() {}
