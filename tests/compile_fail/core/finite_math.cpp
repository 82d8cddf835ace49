// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: compile what includes sla without it, and without its parts -ffinite-math-only and -fassociative-math
// alone: what it defines is seen where the header is included.
#ifndef FIXED
#undef __FINITE_MATH_ONLY__
#define __FINITE_MATH_ONLY__ 1  // as -ffinite-math-only does
#endif
#include <sla/tensor.hpp>

int main() { return 0; }
