// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: order before it is distributed, p = rcm.A. and distribute<SparseShard<0>>.permuted.A, p., mesh, partitioner.
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f([[maybe_unused]] Matrix_ const& D, sparse_tensor<double> const& A, Mesh const& m) {
  auto const p = rcm(A);
#ifdef FIXED
  return distribute<SparseShard<0>>(permuted(A, p), m, strips{});
#else
  (void)m;
  return permuted(D, p);
#endif
}
int main() {}
