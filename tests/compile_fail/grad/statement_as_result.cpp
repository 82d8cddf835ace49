// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: f returns a statement of fuse, not a number: write squared_norm
#include <sla/grad/call/check_gradient.hpp>
#include <sla/grad/call/gradient.hpp>

int main() {
  auto x = sla::random<double>({8}, 1);
#ifdef FIXED
  auto f = [](auto const& v) { return sla::squared_norm(2.0 * v); };
#else
  auto f = [](auto const& v) { return sla::squared_norm_of(2.0 * v); };
#endif
  return sla::check_gradient(f, x).passed ? 0 : 1;
}
