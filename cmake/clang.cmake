# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A toolchain: the newest clang++ on PATH (16 is the oldest that knows enough of C++20).
find_program(CMAKE_CXX_COMPILER REQUIRED
  NAMES clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++)
