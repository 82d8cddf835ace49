# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that users will write, as they stand: each returns 0.
function(sla_add_target_test name)
  add_executable(targets.${name} targets/${name}.cpp)
  target_link_libraries(targets.${name} PRIVATE sla_developer)
  add_test(NAME targets.${name} COMMAND targets.${name} ${ARGN})
  set_tests_properties(targets.${name} PROPERTIES LABELS targets TIMEOUT 120 ENVIRONMENT "${environment}")
endfunction()

sla_add_target_test(01_solve "${CMAKE_CURRENT_SOURCE_DIR}/data/1138_bus.mtx")
sla_add_target_test(02_expressions)
sla_add_target_test(03_gradient)
sla_add_target_test(04_placements)
sla_add_target_test(05_four_ranks)
sla_add_target_test(08_multigrid)

# Examples are tests too, but for the main job, which examples/run.sh runs; where the examples are not built, the tests build these.
file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
list(FILTER examples EXCLUDE REGEX "main_job.cpp$")
foreach(source IN LISTS examples)
  cmake_path(GET source STEM name)
  set(target examples.${name})
  if(NOT TARGET ${target})
    add_executable(${target} "${source}")
    target_link_libraries(${target} PRIVATE sla_developer)
    target_compile_options(${target} PRIVATE ${SLA_METHOD_FLAGS})
  endif()
  add_test(NAME ${target} COMMAND ${target})
  set_tests_properties(${target} PROPERTIES LABELS targets TIMEOUT 120 ENVIRONMENT "${environment}")
endforeach()

if(NOT sla_mpi_missing)
  sla_add_mpi_test(targets.06_mpi targets/06_mpi.cpp "1;2;4")
endif()
