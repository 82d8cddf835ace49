// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E19\]: the vector does not match the partition
#include <sla/spmd.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

using namespace sla;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <class... P>
using X = distributed<vector<double>, Grid, P...>;
template <class... P>
using A = distributed<sparse_tensor<double>, Grid, P...>;

int main() {
#ifdef FIXED
  require_well_typed<op::matvec, A<SparseShard<0, Part<"a">>, Replicate>, X<Shard<0, Part<"a">>, Replicate>>();
#else
  require_well_typed<op::matvec, A<SparseShard<0, Part<"a">>, Replicate>, X<Shard<0, Part<"b">>, Replicate>>();
#endif
}
