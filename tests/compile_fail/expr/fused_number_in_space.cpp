// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a number is no statement.*in it write dot_of
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto x = ones<double>(3), y = x;
  immediate<serial> space;
#ifdef FIXED
  auto [length] = fuse(space, set(y, 2.0 * x), norm_of(y));
#else
  auto [length] = fuse(space, set(y, 2.0 * x), norm(y));
#endif
  return int(length);
}
