# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SLA_CLANG: the newest clang++ on PATH, 16 or later (older ones do not know enough of C++20), or SLA_CLANG-NOTFOUND.
find_program(SLA_CLANG NAMES clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++)
if(SLA_CLANG)
  execute_process(COMMAND "${SLA_CLANG}" -dumpversion OUTPUT_VARIABLE sla_clang_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(sla_clang_version VERSION_LESS 16)
    set(SLA_CLANG SLA_CLANG-NOTFOUND CACHE FILEPATH "clang++ 16 or later" FORCE)
  endif()
endif()
