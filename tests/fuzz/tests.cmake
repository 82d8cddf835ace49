# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A file tests/fuzz/<name>.cpp is a fuzzer of a reader (libFuzzer: clang alone), seeded by corpus/<name>, with the words of
# <name>.dict. What it finds is written where it runs; the finding's bytes belong into the corpus.
set(SLA_FUZZ_SECONDS 30 CACHE STRING "How long the test runs each fuzzer")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  if(sla_${name}_missing)
    message(STATUS "The fuzzer of ${name} is left out: ${sla_${name}_missing}.")
    continue()
  endif()
  set(found "${CMAKE_CURRENT_BINARY_DIR}/fuzz/${name}")
  file(MAKE_DIRECTORY "${found}")
  add_executable(fuzz.${name} "${source}")
  target_link_libraries(fuzz.${name} PRIVATE sla_test $<TARGET_NAME_IF_EXISTS:sla_${name}>)
  target_compile_options(fuzz.${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz.${name} PRIVATE -fsanitize=fuzzer)
  add_test(NAME fuzz.${name} COMMAND fuzz.${name} -max_total_time=${SLA_FUZZ_SECONDS} -seed=1 -max_len=4096 -timeout=10
    -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 "-artifact_prefix=${found}/"
    "-dict=${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${name}.dict" "${found}" "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name}")
  math(EXPR limit "${SLA_FUZZ_SECONDS} + 90")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${limit} ENVIRONMENT "${environment}")
endforeach()
