// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: one placement per mesh axis
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
  require_placements<vector<double>, Grid, Replicate, Replicate>();
#else
  require_placements<vector<double>, Grid, Replicate>();
#endif
}
