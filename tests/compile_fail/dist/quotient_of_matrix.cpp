// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: a quotient with a distributed matrix
#include <sla/dist/matrix/refused_on_ranks.hpp>
#include <sla/dist/matrix/slices_on_ranks.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;

#ifdef FIXED
auto made(Operator const& D) { return D / 2.0; }
#else
auto made(Operator const& D) { return D / D; }
#endif
int main() {}
