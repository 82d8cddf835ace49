// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E03\]: a pending sum \(Partial\) is added to a Replicate
// expect-error: wrap_operand<0, .*call::all_reduce<
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
  require_well_typed<op::add, X<Replicate, Replicate>, X<Replicate, Replicate>>();
#else
  require_well_typed<op::add, X<Replicate, Partial<>>, X<Replicate, Replicate>>();
#endif
}
