// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E19\]: the vector does not match the partition of the sparse operand.*a solve takes b in D.row_layout\(\)
#include <sla/spmd.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

using namespace sla;
using Line = mesh<axis<"line">>;
template <class P>
using A = distributed<sparse_tensor<double>, Line, P>;
template <class P>
using B = distributed<vector<double>, Line, P>;

int main() {
#ifdef FIXED
  require_well_typed<op::solve, A<SparseShard<1>>, B<Shard<0, Part<>>>>();
#else
  require_well_typed<op::solve, A<SparseShard<1>>, B<Replicate>>();
#endif
}
