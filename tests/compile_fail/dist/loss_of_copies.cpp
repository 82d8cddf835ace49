// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E25\]: the loss is neither a pending sum nor Invariant along an axis \(below\): the gradient of a Replicate
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>, axis<"tp", 2>>;

auto f(dtensor<vector<double>, Mesh, Replicate, Shard<0>> const& x) {
#ifdef FIXED
  return value_and_gradient([](auto const& v) { return convert<"dp", Partial<>>(dot(v, v)); }, x);
#else
  return value_and_gradient([](auto const& v) { return dot(v, v); }, x);
#endif
}
int main() {}
