// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: D \+ E, D - E of a distributed matrix and something else
#include <sla/dist/matrix/refused_on_ranks.hpp>
#include <sla/dist/matrix/slices_on_ranks.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;

#ifdef FIXED
auto made(Operator const& D) { return D + 2.0 * D; }
#else
auto made(Operator const& D) { return D + 2.0; }
#endif
int main() {}
