// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E35\]: an operand has no placement
#include <sla/dist.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"rows">>, SparseShard<0, Part<>>>;

auto f(Matrix_ const& D, vector<double> const& b) {
#ifdef FIXED
  return eval(D * distribute(b, D.col_layout()));
#else
  return eval(D * b);
#endif
}
int main() {}
