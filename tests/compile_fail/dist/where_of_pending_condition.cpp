// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E07\]: this operation is not additive
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Pending = dtensor<vector<double>, Mesh, Partial<>>;
using Copies = dtensor<vector<double>, Mesh, Replicate>;

auto f(Pending const& p, Copies const& r) {
#ifdef FIXED
  auto const q = all_reduce<"tp">(p);
  return eval(where(q > 0, q, r));
#else
  return where(p > 0, p, r);
#endif
}
int main() {}
