// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: wrap_operand<1, .*reinterpret_mesh<
#include <sla/spmd.hpp>
#include <sla/tensor/storage/dense.hpp>

using namespace sla;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using Line = mesh<axis<"all", 8>>;
using X = distributed<vector<double>, Grid, Shard<0>, Shard<0>>;
using Y = distributed<vector<double>, Line, Shard<0>>;

int main() {
#ifdef FIXED
  require_well_typed<op::add, X, X>();
#else
  require_well_typed<op::add, X, Y>();
#endif
}
