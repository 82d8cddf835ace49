// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: cols, col, select_cols, select and permuted of a distributed matrix are not there
#include <sla/dist/matrix/refused_on_ranks.hpp>
#include <sla/dist/matrix/slices_on_ranks.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;

#ifdef FIXED
auto made(Operator const& D) { return transposed(rows(transposed(D), 0, 2)); }
#else
auto made(Operator const& D) { return cols(D, 0, 2); }
#endif
int main() {}
