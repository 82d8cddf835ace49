# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The checks that read the sources instead of running them: the plan of the house, each header alone, each wrong program refused.
# They bring their own compilers, so one configuration runs them for all.
add_test(NAME house.floors COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/check_house.cmake)
set_tests_properties(house.floors PROPERTIES LABELS house)

# The compilers: name, command with its flags. nvcc stops after its front end, which reads host and device code alike.
set(include_flags "-I${PROJECT_SOURCE_DIR}/include|-isystem|$<JOIN:$<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>,|-isystem|>")
set(absent "") # the headers of components that are missing
foreach(component IN LISTS sla_components)
  if(sla_${component}_missing)
    file(GLOB parts RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/sla/adapter/${component}/*.hpp")
    list(APPEND absent sla/adapter/${component}.hpp ${parts})
  else()
    foreach(target IN LISTS sla_needs_${component})
      get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
      foreach(folder IN LISTS folders)
        if(folder AND NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
          string(APPEND include_flags "|-isystem|${folder}")
        endif()
      endforeach()
    endforeach()
  endif()
endforeach()
list(JOIN absent "|" absent)
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

# What many of these programs include, compiled once for g++ and clang: what stands outside of sla, for whole programs; and parts of
# sla in reading order, for the headers above them.
set(parts sla/core/meta.hpp sla/core/error.hpp sla/spmd/operand.hpp sla/tensor/dense.hpp sla/exec/evaluate.hpp sla/solve/direct.hpp sla/dist/tensor.hpp)
list(JOIN parts "|" parts)
function(sla_precompile name compiler headers)
  add_test(NAME ${name}.${compiler} COMMAND ${CMAKE_COMMAND} "-DHEADERS=${headers}" "-DCOMPILE=${command_${compiler}}|-I${CMAKE_CURRENT_SOURCE_DIR}"
    -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/precompiled/${compiler} -P ${PROJECT_SOURCE_DIR}/cmake/precompile.cmake)
  set_tests_properties(${name}.${compiler} PROPERTIES LABELS house TIMEOUT 600 FIXTURES_SETUP ${name}.${compiler})
endfunction()

# Headers: all together after the macros that users may have defined, for each compiler; and each alone, a test per floor, for one:
# compilers that share a standard library miss the same includes. nvcc reads the CUDA headers, and the door to all others.
function(sla_check_headers name compiler headers)
  add_test(NAME headers.${compiler}.${name} COMMAND ${CMAKE_COMMAND}
    -DINCLUDE=${PROJECT_SOURCE_DIR}/include "-DHEADERS=${headers}" "-DSKIP=${absent}" "-DCOMPILE=${command_${compiler}}"
    -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/headers/${compiler}.${name} ${ARGN} -P ${PROJECT_SOURCE_DIR}/cmake/check_headers.cmake)
  set_tests_properties(headers.${compiler}.${name} PROPERTIES LABELS house TIMEOUT 600)
endfunction()
set(macros "-DPRELUDE=${CMAKE_CURRENT_SOURCE_DIR}/headers/macros.hpp")
foreach(compiler IN LISTS compilers)
  if(compiler STREQUAL "nvcc")
    sla_check_headers(cuda nvcc "*.cuh|sla.hpp")
    sla_check_headers(macros nvcc "*.cuh|sla.hpp" ${macros})
  else()
    string(APPEND command_${compiler} "|-Wall|-Wextra|-Wpedantic")
    sla_precompile(outside ${compiler} headers/shared.hpp)
    sla_check_headers(doors ${compiler} "sla.hpp")
    sla_check_headers(macros ${compiler} "*.hpp" ${macros})
    set(one ${compiler}) # clang, where there is one
  endif()
endforeach()
sla_precompile(parts ${one} "${parts}")
foreach(floor IN ITEMS core tensor expr exec solve grad spmd dist adapter)
  sla_check_headers(${floor} ${one} "${floor}/*.hpp|${floor}.hpp" "-DPARTS=${parts}" -DCOMPILED=${CMAKE_CURRENT_BINARY_DIR}/precompiled/${one})
  set_tests_properties(headers.${one}.${floor} PROPERTIES FIXTURES_REQUIRED parts.${one})
endforeach()

# Wrong programs, a test per file for all compilers; those for a device for nvcc alone.
set(commands "")
set(outside "")
foreach(compiler IN LISTS compilers)
  set(command "${command_${compiler}}")
  if(NOT compiler STREQUAL "nvcc")
    string(APPEND command "|-include|${CMAKE_CURRENT_BINARY_DIR}/precompiled/${compiler}/headers_shared_hpp")
    list(APPEND outside outside.${compiler})
  endif()
  list(APPEND commands "${command}")
endforeach()
list(JOIN commands "^" commands)
function(sla_check_refusals pattern commands)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail" "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${pattern}")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH floor)
    cmake_path(GET source STEM law)
    add_test(NAME compile_fail.${floor}.${law} COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${source}
      "-DCOMPILERS=${commands}" -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
    set_tests_properties(compile_fail.${floor}.${law} PROPERTIES LABELS house TIMEOUT 120 FIXTURES_REQUIRED "${outside}")
  endforeach()
endfunction()
sla_check_refusals("*.cpp" "${commands}")
if(CMAKE_CUDA_COMPILER)
  sla_check_refusals("*.cu" "${command_nvcc}")
endif()

# The page of placements: each refusal with a wrong program and the right one. nvcc does not deduce strings out of types, as in
# flat<"dp", "tp"> and patterns of a reshape.
foreach(compiler IN LISTS compilers)
  set(skip "")
  if(compiler STREQUAL "nvcc")
    set(skip "-DSKIP=E26|E28|E36")
  endif()
  add_test(NAME page.spmd.${compiler} COMMAND ${CMAKE_COMMAND} -DPAGE=${PROJECT_SOURCE_DIR}/include/sla/spmd/README.md
    "-DCOMPILE=${command_${compiler}}" -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/page.spmd.${compiler} ${skip} -P ${PROJECT_SOURCE_DIR}/cmake/check_page.cmake)
  set_tests_properties(page.spmd.${compiler} PROPERTIES LABELS house TIMEOUT 600)
endforeach()
