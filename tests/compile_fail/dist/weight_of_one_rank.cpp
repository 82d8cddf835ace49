// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: A and B are sparse matrices, both in host memory or both distributed by rows
#include <sla/dist.hpp>
#include <sla/eigenvalues.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"line">>, SparseShard<0, Part<>>>;

auto f(Matrix_ const& D, sparse_tensor<double> const& B) {
#ifdef FIXED
  return eigsh(D, distribute<SparseShard<0>>(B, D.mesh(), D.row_layout()), 2, largest{}, lobpcg{}).values;
#else
  return eigsh(D, B, 2, largest{}, lobpcg{}).values;
#endif
}
int main() {}
