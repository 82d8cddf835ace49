// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla needs C\+\+20, which the compiler was not asked for: compile with -std=c\+\+20
#ifndef FIXED
#include <sla/sla.hpp>
#endif

int main() {}
