# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For the project's own tests, benchmarks and examples; included only where sla is the top-level project.
option(SLA_BUILD_TESTS "Build the tests" ON)
option(SLA_BUILD_BENCH "Build the benchmarks" OFF)
option(SLA_BUILD_EXAMPLES "Build the examples" ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# -Wpedantic stays away from nvcc, whose generated code breaks it everywhere.
add_library(sla_developer INTERFACE)
target_link_libraries(sla_developer INTERFACE sla)
target_compile_options(sla_developer INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-gnu-zero-variadic-macro-arguments>)

if(SLA_BUILD_BENCH)
  add_subdirectory(bench)
endif()

if(SLA_BUILD_EXAMPLES)
  add_subdirectory(examples)
endif()

if(SLA_BUILD_TESTS)
  enable_testing()
  add_subdirectory(tests)
endif()
