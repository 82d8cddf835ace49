// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: tril.D, k., triu.D, k., trace.D. of a distributed matrix are not there
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/refused_on_ranks.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;

#ifdef FIXED
auto made(Operator const& D) { return sum(diagonal_of(D)); }
#else
auto made(Operator const& D) { return trace(D); }
#endif
int main() {}
