// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: if distributed, all of them, without halos, and with <sla/dist/grad/check_on_ranks.hpp>
// alone: it is refused for want of a header that others include.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/grad/call/check_gradient.hpp>

using namespace sla;

bool right() {
  self world;
  mesh<axis<"rows">> m(world);
  auto const x = random<double>({8}, 1);
  auto const f = [](auto const& v) { return squared_norm(v); };
#ifdef FIXED
  return check_gradient(f, x).passed;
#else
  return check_gradient(f, distribute<Shard<0>>(x, m)).passed;
#endif
}
