// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E12\]: no conversion without communication
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
  require_step<step::all_reduce, X<Partial<>, Replicate>, "dp", Replicate>();
#else
  require_step<step::convert, X<Partial<>, Replicate>, "dp", Replicate>();
#endif
}
