// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: say how many there are at most, gram_of<16>\(V, W\)
#include <sla/exec/evaluate.hpp>

int main() {
  auto const V = sla::random<double, sla::Extents<sla::dyn, sla::dyn>>({20, 4}, 1);
#ifdef FIXED
  auto const [G] = fuse(sla::gram_of<16>(V, V));
#else
  auto const [G] = fuse(sla::gram_of(V, V));
#endif
  return G(0, 0) > 0 ? 0 : 1;
}
