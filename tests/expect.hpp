// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For test programs that have their own main (MPI ranks, devices): expect(condition, "what") and return failures().
#pragma once
#include <cstdio>

inline int& failures() {
  static int count = 0;
  return count;
}

inline void expect(bool condition, char const* what) {
  if (condition) return;
  ++failures();
  std::fprintf(stderr, "expected: %s\n", what);
}
