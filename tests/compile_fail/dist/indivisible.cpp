// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E30\].*do not divide the extent
#include <sla/dist/plan/redistribute.hpp>

using namespace sla;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 2>>;
#ifdef FIXED
using Rows = tensor<double, Extents<12, 5>>;
#else
using Rows = tensor<double, Extents<10, 5>>;
#endif

// each axis alone divides them
auto f(dtensor<Rows, Grid, Replicate, Replicate> const& x) { return redistribute<Shard<0>, Shard<0>>(x); }
int main() {}
