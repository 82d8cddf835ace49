// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: eigs.A, k, ..., dense_schur...: A is a sparse matrix in host memory; on ranks
#include <sla/dist.hpp>
#include <sla/eigenvalues.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"line">>, SparseShard<0, Part<>>>;

auto f(Matrix_ const& D) {
#ifdef FIXED
  return eigs(D, 2, largest{}, krylov_schur{}).values;
#else
  return eigs(D, 2, largest{}, dense_schur{}).values;
#endif
}
int main() {}
