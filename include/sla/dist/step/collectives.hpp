// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives and conversions of distributed tensors by name: `all_reduce<"tp">(x)`, `all_gather<"tp">(x)`, `convert<"tp", P>(x)`.
// The calls are those of spmd/step/named_steps.hpp, what they do is in dist/step/steps.hpp; halos are in dist/step/halo_steps.hpp.
#pragma once

#include <sla/dist/step/steps.hpp>

namespace sla {

/// Without an axis, which is refused by a sentence.
template <Stepping X>
auto all_reduce(X const& x) {
  static_assert(always_false<X>, "sla: all_reduce<axis>(x): name the axis of the mesh along which the ranks' parts are folded, as all_reduce<\"rows\">(x)");
  return eval(x);
}
template <Stepping X>
auto all_gather(X const& x) {
  static_assert(always_false<X>, "sla: all_gather<axis>(x): name the axis of the mesh whose ranks' parts are gathered, as all_gather<\"rows\">(x); gather(x) "
                                 "gathers along all axes");
  return eval(x);
}
template <Stepping X>
auto reduce_scatter(X const& x) {
  static_assert(always_false<X>, "sla: reduce_scatter<axis, Shard<d>>(x): name the axis of the mesh along which the ranks' parts are folded, and how the sums are cut, as "
                                 "reduce_scatter<\"rows\", Shard<0>>(x)");
  return eval(x);
}

} // namespace sla
