// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: compile what includes sla without it, and without its parts -ffinite-math-only and -fassociative-math
// alone: what it defines is seen where the header is included.
#ifndef FIXED
#define __ASSOCIATIVE_MATH__ 1  // as -fassociative-math does, and -funsafe-math-optimizations
#endif
#include <sla/tensor.hpp>

int main() { return 0; }
