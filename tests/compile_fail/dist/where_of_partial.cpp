// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E07\]: this operation is not additive
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Pending = dtensor<vector<double>, Mesh, Partial<>>;

auto f(Pending const& x, Pending const& y, dtensor<vector<double>, Mesh, Replicate> const& c) {
#ifdef FIXED
  return eval(where(c, all_reduce<"tp">(x), all_reduce<"tp">(y)));
#else
  return eval(where(c, x, y));
#endif
}
int main() {}
