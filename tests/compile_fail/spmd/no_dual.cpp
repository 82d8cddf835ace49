// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: only a pending sum is differentiable
#include <sla/spmd.hpp>

int main() {
#ifdef FIXED
  return sizeof(sla::dual_of<sla::Partial<sla::Sum>>::type) == 0;
#else
  return sizeof(sla::dual_of<sla::Partial<sla::Max>>::type) == 0;
#endif
}
