# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A toolchain: the newest clang.
include("${CMAKE_CURRENT_LIST_DIR}/find_clang.cmake")
if(NOT SLA_CLANG)
  message(FATAL_ERROR "no clang++ 16 or later was found (Debian 12: apt install clang-16; Debian 13: apt install clang-19)")
endif()
set(CMAKE_CXX_COMPILER "${SLA_CLANG}")
