# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For the project's own tests, benchmarks and examples; included only where sla is the top-level project.
find_path(SLA_CATCH_INCLUDE_DIR NAMES catch2/catch.hpp catch2/catch_all.hpp)
set(tests_can_be_built OFF)
if(SLA_CATCH_INCLUDE_DIR)
  set(tests_can_be_built ON)
endif()
option(SLA_BUILD_TESTS "Build the tests; left alone, where Catch2 is found" ${tests_can_be_built})
option(SLA_BUILD_BENCH "Build the benchmarks" OFF)
option(SLA_BUILD_EXAMPLES "Build the examples" ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT SLA_BUILD_INSTANCES)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # what is installed are headers: --target install builds nothing
endif()

# What was compiled before is taken from ccache, and lld links, where they are present.
find_program(SLA_CCACHE ccache)
if(SLA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SLA_CCACHE})
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>" "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
find_program(SLA_LLD ld.lld)
if(SLA_LLD)
  add_link_options("$<$<LINK_LANG_AND_ID:CXX,GNU,Clang>:-fuse-ld=lld>")
endif()

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
