// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E06\]: a pending sum \(Partial\) meets values that differ
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(Rows const& r, Rows const& q) {
  auto const a = dot(r, q);
#ifdef FIXED
  return eval(r + all_reduce<"rows">(a) * q);
#else
  return eval(r + a * q);
#endif
}
int main() {}
