// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E30\].*do not divide the extent
#include <sla/dist/plan/redistribute.hpp>

using namespace sla;
using Grid = mesh<axis<"tp", 2>>;
#ifdef FIXED
using Nine = tensor<double, Extents<10>>;
#else
using Nine = tensor<double, Extents<9>>;
#endif

// the second step is not taken where the first one is refused
using Around = plans::Route<plans::Convert<Replicate, Shard<0>, "tp">, plans::AllGather<Shard<0>, Replicate, "tp">>;
auto f(dtensor<Nine, Grid, Replicate> const& x) { return redistribute_by<Around>(x); }
int main() {}
