// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: squared_norm.D. of a distributed matrix: double const n = norm.D., and n \* n is its square
#include <sla/dist.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"rows">>, SparseShard<0, Part<>>>;

double f(Matrix_ const& D) {
#ifdef FIXED
  double const n = norm(D);
  return n * n;
#else
  return squared_norm(D);
#endif
}
int main() {}
