# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DSOURCE=<project> -DBUILD=<folder> -DGENERATOR=<name> -DENTRIES=<cache entry|...> -DSENTENCE=<text> [-DMATRIX=<file>] -P consume.cmake
# Configures, builds and runs the consumer project; with SENTENCE, its configuration must fail and say that; with MATRIX, its programs
# solve_sla and solve_instances must say the same of that file, but for their seconds.
cmake_minimum_required(VERSION 3.24)
string(REPLACE "|" ";" ENTRIES "${ENTRIES}")
file(REMOVE_RECURSE "${BUILD}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
  set(rc "${rc}" PARENT_SCOPE)
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${BUILD}" -G "${GENERATOR}" ${ENTRIES})
if(SENTENCE)
  string(REGEX REPLACE "[ \n]+" " " flat "${out}") # CMake breaks long lines
  string(FIND "${flat}" "${SENTENCE}" place)
  if(rc EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "the configuration must fail and say '${SENTENCE}', but:\n${out}")
  endif()
  return()
endif()
foreach(step IN ITEMS "" "${CMAKE_COMMAND};--build;${BUILD}" "${BUILD}/consumer")
  if(step)
    run(${step})
  endif()
  if(NOT rc EQUAL 0)
    string(REPLACE "\n" "\n  " out "\n${out}") # indented text is not wrapped
    message(FATAL_ERROR "${step}:${out}")
  endif()
endforeach()

if(MATRIX)
  foreach(program IN ITEMS solve_sla solve_instances)
    run("${BUILD}/${program}" "${MATRIX}")
    string(REGEX REPLACE ", setup [^;]*" "" said_by_${program} "${rc}: ${out}")
  endforeach()
  if(NOT said_by_solve_sla MATCHES "^0: .*converged" OR NOT said_by_solve_sla STREQUAL said_by_solve_instances)
    message(FATAL_ERROR "without the component instances: ${said_by_solve_sla}\nwith it: ${said_by_solve_instances}")
  endif()
endif()
