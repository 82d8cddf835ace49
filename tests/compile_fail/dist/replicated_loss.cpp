// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E25\]: the loss is neither a pending sum nor Invariant along an axis \(below\): the gradient of a Replicate
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Sharded = dtensor<vector<double>, Mesh, Shard<0>>;

void f(Sharded const& x) {
#ifdef FIXED
  (void)value_and_gradient([](auto const& v) { return squared_norm(v); }, x);
#else
  (void)value_and_gradient([](auto const& v) { return norm(v); }, x);
#endif
}
int main() {}
