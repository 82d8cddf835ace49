// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: jacobian_plan.F, u, parameters.*on ranks the option jacobian_on.D.
#include <sla/dist.hpp>
#include <sla/nonlinear.hpp>

using namespace sla;
using Column = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

index_t f(Column const& u) {
  auto const F = [](auto const& v) { return exp(v) - 2.0; };
#ifdef FIXED
  return jacobian_plan(F, gather(u)).nnz();
#else
  return jacobian_plan(F, u).nnz();
#endif
}
int main() {}
