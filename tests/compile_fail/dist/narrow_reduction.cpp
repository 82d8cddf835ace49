// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E20\]: the backward pass would reduce gradients in a number of fewer than 32 bits
#include <sla/dist/step/precision_steps.hpp>

using namespace sla;
using Mesh = mesh<axis<"dp", 2>>;
using Weights = dtensor<vector<double>, Mesh, Shard<0>>;

auto f(traced<Weights> const& w) {
#ifdef FIXED
  return all_gather<"dp">(w, wire<bfloat16>{}, out<float>{}, bwd<wire<float>>{});
#else
  return all_gather<"dp">(w, wire<bfloat16>{}, out<float>{});
#endif
}
int main() {}
