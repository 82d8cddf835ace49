// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: to_entries\(D\), solve\(D, b\) where no rank has whole rows: D has no batch and no blocks
#include <sla/dist/matrix/to_entries.hpp>

using namespace sla;
using Mesh = mesh<axis<"pr">, axis<"pc", 2>>;
#ifdef FIXED
using Local = sparse_tensor<double>;
#else
using Local = sparse_tensor<double, Shape<Batch<>, dyn, dyn, Block<2, 2>>>;
#endif
using Operator = dsparse_tensor<Local, Mesh, SparseShard<0, Balanced>, SparseShard<1, Balanced>>;

auto entries(Operator const& D) { return to_entries(D); }
int main() {}
