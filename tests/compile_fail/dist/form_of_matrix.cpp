// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: to<Format>\(D\), to_blocks, unblocked, to_batch, sorted of a distributed matrix
#include <sla/dist/matrix/refused_on_ranks.hpp>
#include <sla/dist/matrix/slices_on_ranks.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;

#ifdef FIXED
auto made(Operator const& D) { return cast<float>(D); }
#else
auto made(Operator const& D) { return (to_blocks<2, 2>(D)); }
#endif
int main() {}
