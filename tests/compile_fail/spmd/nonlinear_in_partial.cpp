// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E07\]: this operation is not additive
#include <sla/spmd.hpp>
#include <sla/tensor/dense.hpp>
#include <sla/tensor/sparse.hpp>

using namespace sla;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <class... P>
using X = distributed<vector<double>, Grid, P...>;
template <class... P>
using A = distributed<sparse_tensor<double>, Grid, P...>;

int main() {
#ifdef FIXED
  require_well_typed<op::neg, X<Partial<>, Replicate>>();
#else
  require_well_typed<op::exp, X<Partial<>, Replicate>>();
#endif
}
