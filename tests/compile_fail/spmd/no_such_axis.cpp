// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: this mesh has no axis of that name
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
  require_step<step::all_reduce, X<Partial<>, Replicate>, "dp", Replicate>();
#else
  require_step<step::all_reduce, X<Partial<>, Replicate>, "pp", Replicate>();
#endif
}
