// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: -ffast-math lets the compiler drop the tests for NaN
#ifndef FIXED
#define __FAST_MATH__ 1  // as the option does
#endif
#include <sla/tensor.hpp>

int main() { return 0; }
