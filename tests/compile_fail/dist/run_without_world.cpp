// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: threads::run.ranks, f.: f takes the world of its rank
// apart: nvcc does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/dist/engine/threads.hpp>

int main() {
#ifdef FIXED
  return sla::threads::run(2, [](auto&) { return 0; });
#else
  return sla::threads::run(2, [] { return 0; });
#endif
}
