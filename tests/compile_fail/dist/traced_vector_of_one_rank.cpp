// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla.E35.: an operand has no placement
#include <sla/dist.hpp>

using namespace sla;
using Line = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Line, SparseShard<0, Part<>>>;

auto f(Rows const& D, vector<double> const& u0) {
#ifdef FIXED
  return D * distribute(u0, D.row_layout());
#else
  tape t;
  return D * traced<vector<double>>(t, t.input(u0));
#endif
}
int main() {}
