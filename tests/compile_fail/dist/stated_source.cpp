// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E11\]
#include <sla/dist/step/collectives.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 2>>;
using Columns = dtensor<matrix<double>, Mesh, Shard<1>>;

auto f(Columns const& x) {
#ifdef FIXED
  return all_gather<"tp", Shard<1>, Replicate>(x);
#else
  return all_gather<"tp", Shard<0>, Replicate>(x);
#endif
}
int main() {}
