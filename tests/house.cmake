# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The checks that read the sources instead of running them: the plan of the house, each header alone, each wrong program refused.
# They bring their own compilers, so one configuration runs them for all.
add_test(NAME house.floors COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/check_house.cmake)
set_tests_properties(house.floors PROPERTIES LABELS house)

# The compilers: name, command with its flags. nvcc stops after its front end, which reads host and device code alike.
set(include_flags "-I${PROJECT_SOURCE_DIR}/include|-isystem|$<JOIN:$<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>,|-isystem|>")
if(NOT sla_mpi_missing)
  string(APPEND include_flags "|-isystem|$<JOIN:$<TARGET_PROPERTY:MPI::MPI_CXX,INTERFACE_INCLUDE_DIRECTORIES>,|-isystem|>")
endif()
set(flags "-std=c++20|${include_flags}")
set(compilers "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(command_g++ "${CMAKE_CXX_COMPILER}|${flags}|-fsyntax-only")
  list(APPEND compilers g++)
endif()
include(find_clang)
if(SLA_CLANG)
  set(command_clang "${SLA_CLANG}|${flags}|-fsyntax-only")
  list(APPEND compilers clang)
endif()
if(CMAKE_CUDA_COMPILER)
  set(command_nvcc "${CMAKE_CUDA_COMPILER}|-x|cu|-arch=sm_90|${flags}|-ptx|-o|/dev/null")
  list(APPEND compilers nvcc)
endif()

# Headers: each alone, a test per floor and compiler; and all together after the macros that users may have defined. nvcc reads
# the CUDA headers, and the door to all others.
function(sla_check_headers name compiler headers)
  add_test(NAME headers.${compiler}.${name} COMMAND ${CMAKE_COMMAND}
    -DINCLUDE=${PROJECT_SOURCE_DIR}/include "-DHEADERS=${headers}" "-DSKIP=${absent}" "-DCOMPILE=${command_${compiler}}"
    -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/headers/${compiler}.${name} ${ARGN} -P ${PROJECT_SOURCE_DIR}/cmake/check_headers.cmake)
  set_tests_properties(headers.${compiler}.${name} PROPERTIES LABELS house TIMEOUT 300)
endfunction()
set(absent "")
if(sla_mpi_missing)
  set(absent "sla/adapter/mpi.hpp")
endif()
set(macros "-DPRELUDE=${CMAKE_CURRENT_SOURCE_DIR}/headers/macros.hpp")
foreach(compiler IN LISTS compilers)
  if(compiler STREQUAL "nvcc")
    sla_check_headers(cuda nvcc "*.cuh|sla.hpp")
    sla_check_headers(macros nvcc "*.cuh|sla.hpp" ${macros})
  else()
    string(APPEND command_${compiler} "|-Wall|-Wextra|-Wpedantic")
    foreach(floor IN ITEMS core tensor expr exec solve grad spmd dist adapter)
      sla_check_headers(${floor} ${compiler} "${floor}/*.hpp|${floor}.hpp")
    endforeach()
    sla_check_headers(doors ${compiler} "sla.hpp")
    sla_check_headers(macros ${compiler} "*.hpp" ${macros})
  endif()
endforeach()

# Wrong programs, a test per file for all compilers.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail" "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*.cpp")
set(commands "")
foreach(compiler IN LISTS compilers)
  list(APPEND commands "${command_${compiler}}")
endforeach()
list(JOIN commands "^" commands)
foreach(source IN LISTS sources)
  cmake_path(GET source PARENT_PATH floor)
  cmake_path(GET source STEM law)
  add_test(NAME compile_fail.${floor}.${law} COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${source}
    "-DCOMPILERS=${commands}" -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
  set_tests_properties(compile_fail.${floor}.${law} PROPERTIES LABELS house TIMEOUT 120)
endforeach()
