# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The component `instances`: what programs of common types would compile again and again, compiled once into a static library.
# cmake/instances/*.hpp.in say what it holds, for one scalar each. Made of them here are headers <sla_instances/...>, which declare it
# (`extern template`) and which sla's doors read where the folder of them is among the include folders, as it is of those who link
# sla::instances and of nobody else; and the sources of the library, which are these headers without the word `extern`.
# As its target is built only for those who link it, a project that has sla as a subdirectory pays nothing for it otherwise.
option(SLA_BUILD_INSTANCES "Build the component instances, and install it" OFF)
set(folder "${CMAKE_CURRENT_BINARY_DIR}/instances")
set(licence "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n// Made by cmake/instances.cmake.\n")
set(sources "")

# sla_write_instances(<part> <door> <header of the definitions> <scalar>...)
function(sla_write_instances part door definitions)
  file(READ "${CMAKE_CURRENT_SOURCE_DIR}/cmake/instances/${part}.hpp.in" text)
  set(declared "")
  foreach(scalar IN LISTS ARGN)
    string(CONFIGURE "${text}" block @ONLY)
    string(APPEND declared "${block}")
    string(REPLACE "extern template" "template" block "${block}")
    string(MAKE_C_IDENTIFIER "${part}_${scalar}" name)
    file(CONFIGURE OUTPUT "${folder}/${name}.cpp" CONTENT "${licence}#include <complex>\n\n#include <sla/${definitions}>\n#include <sla/${door}>\n\nnamespace sla {\n${block}}\n" @ONLY)
    list(APPEND sources "${folder}/${name}.cpp")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/include/sla_instances/${part}.hpp"
    CONTENT "${licence}#pragma once\n\n#include <complex>\n\n#include <sla/${door}>\n\nnamespace sla {\n${declared}}\n" @ONLY)
  set(sources "${sources}" PARENT_SCOPE)
endfunction()
set(real_and_complex double "std::complex<double>") # Eigen's factors are of these, whatever the scalars of A
sla_write_instances(tensor tensor.hpp tensor.hpp float ${real_and_complex})
sla_write_instances(solve solve.hpp solve.hpp float ${real_and_complex})
sla_write_instances(factors solve/seam/factorization.hpp adapter/eigen_direct.hpp ${real_and_complex})
file(CONFIGURE OUTPUT "${folder}/order.cpp" CONTENT "${licence}#include <sla/adapter/eigen_direct.hpp>\n\ntemplate std::vector<sla::index_t> sla::detail::minimum_degree_order(int, int const*, int const*);\n" @ONLY)

add_library(sla_instances STATIC ${sources} "${folder}/order.cpp")
add_library(sla::instances ALIAS sla_instances)
target_link_libraries(sla_instances PUBLIC sla)
target_include_directories(sla_instances PUBLIC $<BUILD_INTERFACE:${folder}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_LIBDIR}/sla>)
set_target_properties(sla_instances PROPERTIES EXPORT_NAME instances POSITION_INDEPENDENT_CODE ON)
if(SLA_BUILD_INSTANCES)
  install(DIRECTORY "${folder}/include/sla_instances" DESTINATION "${CMAKE_INSTALL_LIBDIR}/sla")
  install(TARGETS sla_instances EXPORT sla_instances-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT sla_instances-targets NAMESPACE sla:: DESTINATION "${package_dir}")
else()
  set_target_properties(sla_instances PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
