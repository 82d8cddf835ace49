// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: color_columns.A.: A is a sparse tensor of one rank
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"line">>, SparseShard<0, Part<>>>;

int f(Matrix_ const& D) {
#ifdef FIXED
  return color_columns(gather(D)).count;
#else
  return color_columns(D).count;
#endif
}
int main() {}
