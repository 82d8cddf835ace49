# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The checks that read the sources instead of running them: the plan of the house, the names of the reference, the doors, wrong programs
# that are refused, the page of placements, the blocks of the other pages, by the compiler of this configuration
# and nvcc where it has that; and, where SLA_TESTS has "headers", each header alone. Those of a high COST begin first: they take long.
add_test(NAME house.floors COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/check_house.cmake)
add_test(NAME house.reference COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/reference
  -P ${PROJECT_SOURCE_DIR}/cmake/check_reference.cmake)
set_tests_properties(house.floors house.reference PROPERTIES LABELS house)

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
set(command_cxx "${CMAKE_CXX_COMPILER}|-std=c++20|${include_flags}|-fsyntax-only|-Wall|-Wextra|-Wpedantic")
set(command_nvcc "${CMAKE_CUDA_COMPILER}|-x|cu|-arch=sm_90|-std=c++20|${include_flags}|-ptx|-o|/dev/null")
set(compilers "")
if("house" IN_LIST SLA_TESTS)
  list(APPEND compilers cxx)
endif()
if(CMAKE_CUDA_COMPILER)
  list(APPEND compilers nvcc)
endif()

# Headers: all together after the macros that users may have defined, and the door alone, unless each is; of CUDA's, each alone.
set(macros "-DPRELUDE=${CMAKE_CURRENT_SOURCE_DIR}/headers/macros.hpp")
function(sla_check_headers name headers compiler)
  add_test(NAME headers.${name} COMMAND ${CMAKE_COMMAND}
    -DINCLUDE=${PROJECT_SOURCE_DIR}/include "-DHEADERS=${headers}" "-DSKIP=${absent}" "-DCOMPILE=${command_${compiler}}"
    -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/headers/${name} ${ARGN} -P ${PROJECT_SOURCE_DIR}/cmake/check_headers.cmake)
  set_tests_properties(headers.${name} PROPERTIES LABELS house COST 1 TIMEOUT 600)
endfunction()
# g++ keeps the door compiled for its checks of wrong programs, which read it once or twice each.
set(door_of_cxx "")
if(cxx IN_LIST compilers)
  if(NOT "headers" IN_LIST SLA_TESTS)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set(door_of_cxx "${CMAKE_CURRENT_BINARY_DIR}/headers/doors/sla_sla_hpp.cpp")
      sla_check_headers(doors "sla.hpp" cxx -DKEEP=ON)
      set_tests_properties(headers.doors PROPERTIES FIXTURES_SETUP compiled_door)
    else()
      sla_check_headers(doors "sla.hpp" cxx)
    endif()
  endif()
  sla_check_headers(macros "*.hpp" cxx ${macros})
endif()
if(nvcc IN_LIST compilers)
  sla_check_headers(nvcc.cuda "*.cuh|sla.hpp" nvcc)
  sla_check_headers(nvcc.macros "*.cuh|sla.hpp" nvcc ${macros})
endif()

# How many functions a reader meets between a call of `solve` and its method, and that no plain call goes by `perform`: counted by g++.
if(cxx IN_LIST compilers AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_executable(house.hops headers/hops.cpp)
  target_link_libraries(house.hops PRIVATE sla_developer)
  target_compile_options(house.hops PRIVATE -O0 -g1 -fno-pie -finstrument-functions
    -finstrument-functions-exclude-file-list=/usr/include,/usr/lib,sla/core/,sla/exec/)
  target_link_options(house.hops PRIVATE -no-pie)
  add_test(NAME house.hops COMMAND house.hops)
  set_tests_properties(house.hops PROPERTIES LABELS house ENVIRONMENT "${environment}")
endif()

# The blocks of C++ of README.md and docs/ and the programs that clang compiles and runs, all together, and the program that draws the
# pictures: read by g++, for clang compiles the tests of all that is in them.
file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md" "${PROJECT_SOURCE_DIR}/examples/*.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/targets/*.cpp")
list(FILTER pages EXCLUDE REGEX "/(main_job|codipack|enzyme|0[1-6]_[a-z_]*|13_small).cpp$")
list(JOIN pages "|" pages)
if(cxx IN_LIST compilers AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_test(NAME page.docs COMMAND ${CMAKE_COMMAND} "-DPAGES=${PROJECT_SOURCE_DIR}/README.md|${pages}" "-DCOMPILE=${command_cxx}" "-DSKIP=${absent}"
    -DPROGRAM=${PROJECT_SOURCE_DIR}/docs/pictures.cpp -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/page.docs -P ${PROJECT_SOURCE_DIR}/cmake/check_blocks.cmake)
  set_tests_properties(page.docs PROPERTIES LABELS house COST 1 TIMEOUT 600)
endif()

# Each header alone.
if("headers" IN_LIST SLA_TESTS)
  set(modules "")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(modules -DMODULES=ON "-DALONE=sla/adapter/suitesparse.hpp|sla/adapter/spqr.hpp") # SuiteSparse has stdio.h declare other types
  endif()
  sla_check_headers(alone "*.hpp" cxx ${modules})
  set_tests_properties(headers.alone PROPERTIES COST 2 TIMEOUT 1200)
endif()

# Wrong programs, a test per floor and compiler; those for a device are nvcc's alone. That they compile when mended is asked of clang,
# which takes a third of the time of g++ for it, and of nvcc where no other compiler reads them.
file(GLOB floors_of_refusals RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail" "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/*")
foreach(compiler IN LISTS compilers)
  set(prefix "")
  set(skip "")
  set(mended OFF)
  if(compiler STREQUAL "cxx" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(mended ON)
  endif()
  if(compiler STREQUAL "nvcc")
    set(prefix "nvcc.")
    set(skip "-DSKIP=E26|E28|E36") # nvcc does not deduce strings out of types, as in flat<"dp", "tp"> and patterns of a reshape
  endif()
  foreach(floor IN LISTS floors_of_refusals)
    if(floor STREQUAL "cuda" AND NOT compiler STREQUAL "nvcc")
      continue()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/compile_fail/${floor}/*")
    list(JOIN sources "|" sources)
    set(fixed ${mended})
    if(floor STREQUAL "cuda")
      set(fixed ON)
    endif()
    set(name "${prefix}refusals.${floor}")
    set(door "${door_of_${compiler}}")
    if(floor STREQUAL "solve") # some of these are refused for want of a header that the door has
      set(door "")
    endif()
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${name}")
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} "-DSOURCES=${sources}" "-DCOMPILE=${command_${compiler}}"
      -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/${name} -DFIXED=${fixed} -DDOOR=${door} -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
    set_tests_properties(${name} PROPERTIES LABELS house COST 1 TIMEOUT 900)
    if(door)
      set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED compiled_door)
    endif()
  endforeach()

  # The page of placements: each refusal with a wrong program and the right one.
  add_test(NAME ${prefix}page.spmd COMMAND ${CMAKE_COMMAND} -DPAGE=${PROJECT_SOURCE_DIR}/include/sla/spmd/README.md
    "-DCOMPILE=${command_${compiler}}" -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/${prefix}page.spmd ${skip} -DFIXED=${mended} -P ${PROJECT_SOURCE_DIR}/cmake/check_page.cmake)
  set_tests_properties(${prefix}page.spmd PROPERTIES LABELS house COST 1 TIMEOUT 600)
endforeach()

# g++ compiles C++17 where it is not told otherwise.
if(cxx IN_LIST compilers)
  add_test(NAME refusals.older_standard COMMAND ${CMAKE_COMMAND} -DSOURCES=${CMAKE_CURRENT_SOURCE_DIR}/headers/older_standard.cpp
    "-DCOMPILE=${command_cxx}|-std=c++17" -DFIXED=ON -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
  set_tests_properties(refusals.older_standard PROPERTIES LABELS house)
endif()
# clang sees where what an accessor returns outlives a temporary.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND cxx IN_LIST compilers)
  add_test(NAME refusals.dangling COMMAND ${CMAKE_COMMAND} -DSOURCES=${CMAKE_CURRENT_SOURCE_DIR}/headers/dangling.cpp
    "-DCOMPILE=${command_cxx}|-Werror=dangling" -DFIXED=ON -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
  set_tests_properties(refusals.dangling PROPERTIES LABELS house)
  # It sees where a function returns an expression of its locals, and nowhere else.
  add_test(NAME refusals.returned_locals COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}/include
    "-isystem$<JOIN:$<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>,;-isystem>" -fsyntax-only -Wall -Wextra -Wpedantic
    -Xclang -verify -Xclang -verify-ignore-unexpected=note ${CMAKE_CURRENT_SOURCE_DIR}/headers/returned_locals.cpp COMMAND_EXPAND_LISTS)
  set_tests_properties(refusals.returned_locals PROPERTIES LABELS house)
endif()
