// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a number is no statement.*in it write dot_of
#include <sla/exec/evaluate.hpp>

using namespace sla;

int main() {
  auto x = ones<double>(3), y = x;
#ifdef FIXED
  auto [yy, xx] = fuse(set(y, 2.0 * x), dot_of(y, y), squared_norm_of(x));
#else
  auto [yy, xx] = fuse(set(y, 2.0 * x), dot(y, y), squared_norm_of(x));
#endif
  return int(yy + xx);
}
