// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E03\]: a pending sum \(Partial\) is added to a Replicate
#include <sla/dist/step/collectives.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using Pending = dtensor<vector<double>, Mesh, Replicate, Partial<>>;
using Complete = dtensor<vector<double>, Mesh, Replicate, Replicate>;

Complete f(Pending const& p, Complete const& r) {
#ifdef FIXED
  return all_reduce<"tp">(p) + r;
#else
  (void)(p + r);
  return r;
#endif
}
int main() {}
