# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What sla needs from outside, found in one way for the build tree and for the installed package.
# Sets sla_missing to a sentence, or to nothing. Each component has a function that does the same.
set(sla_missing "")

# Eigen 3.4 and Eigen 5 serve alike, which a version request cannot say. Without its package files, its headers are enough.
find_package(Eigen3 QUIET CONFIG GLOBAL)
if(NOT TARGET Eigen3::Eigen)
  find_path(SLA_EIGEN_INCLUDE_DIR Eigen/Core PATH_SUFFIXES eigen3 include/eigen3)
  if(SLA_EIGEN_INCLUDE_DIR)
    add_library(Eigen3::Eigen INTERFACE IMPORTED GLOBAL)
    target_include_directories(Eigen3::Eigen INTERFACE "${SLA_EIGEN_INCLUDE_DIR}")
  else()
    set(sla_missing "Eigen 3.4 or later was not found; install it (Debian: apt install libeigen3-dev), or point \
CMAKE_PREFIX_PATH or Eigen3_DIR at it")
  endif()
elseif(Eigen3_VERSION VERSION_LESS 3.4)
  set(sla_missing "Eigen ${Eigen3_VERSION} in ${Eigen3_DIR} is too old; 3.4 or later is needed")
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads QUIET GLOBAL)
if(NOT TARGET Threads::Threads)
  set(sla_missing "no thread library was found")
endif()

find_package(OpenMP QUIET COMPONENTS CXX GLOBAL)

# The components, and the targets from outside that each links.
set(sla_components mpi cuda gzip safetensors metis kahip ptscotch suitesparse spqr)
set(sla_needs_mpi MPI::MPI_CXX)
set(sla_needs_cuda "")
set(sla_needs_gzip ZLIB::ZLIB)
set(sla_needs_safetensors nlohmann_json::nlohmann_json)
set(sla_needs_metis METIS::METIS)
set(sla_needs_kahip KaHIP::KaHIP)
set(sla_needs_ptscotch PTScotch::PTScotch PTScotch::Scotch PTScotch::Errors MPI::MPI_CXX)
set(sla_needs_suitesparse SuiteSparse::UMFPACK SuiteSparse::CHOLMOD)
set(sla_needs_spqr SuiteSparse::SPQR SuiteSparse::CHOLMOD)

function(sla_find_mpi missing)
  set(${missing} "" PARENT_SCOPE)
  find_package(MPI QUIET COMPONENTS CXX GLOBAL)
  if(NOT TARGET MPI::MPI_CXX)
    set(${missing} "the component mpi needs an MPI library with its compiler wrapper, and none was found; install one \
(Debian: apt install libopenmpi-dev openmpi-bin)" PARENT_SCOPE)
  endif()
endfunction()

function(sla_find_cuda missing)
  set(${missing} "" PARENT_SCOPE)
  find_package(CUDAToolkit QUIET GLOBAL)
  if(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(${missing} "the component cuda needs the CUDA toolkit, and no nvcc was found; put nvcc on PATH, or set \
CUDAToolkit_ROOT" PARENT_SCOPE)
  endif()
endfunction()

function(sla_find_gzip missing)
  set(${missing} "" PARENT_SCOPE)
  find_package(ZLIB QUIET GLOBAL)
  if(NOT TARGET ZLIB::ZLIB)
    set(${missing} "the component gzip needs zlib, and none was found; install it (Debian: apt install zlib1g-dev)" PARENT_SCOPE)
  endif()
endfunction()

function(sla_find_safetensors missing)
  set(${missing} "" PARENT_SCOPE)
  find_package(nlohmann_json QUIET CONFIG GLOBAL)
  if(NOT TARGET nlohmann_json::nlohmann_json)
    set(${missing} "the component safetensors needs nlohmann-json, and none was found; install it \
(Debian: apt install nlohmann-json3-dev)" PARENT_SCOPE)
  endif()
endfunction()

# A library without package files: its target is made of a header and a file to link. <NAME> is that of the cache entries.
function(sla_find_plain NAME target header library)
  find_path(SLA_${NAME}_INCLUDE_DIR ${header} PATH_SUFFIXES suitesparse scotch)
  find_library(SLA_${NAME}_LIBRARY ${library})
  mark_as_advanced(SLA_${NAME}_INCLUDE_DIR SLA_${NAME}_LIBRARY)
  if(SLA_${NAME}_INCLUDE_DIR AND SLA_${NAME}_LIBRARY AND NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} INTERFACE "${SLA_${NAME}_INCLUDE_DIR}")
    target_link_libraries(${target} INTERFACE "${SLA_${NAME}_LIBRARY}")
  endif()
endfunction()

function(sla_find_metis missing)
  set(${missing} "" PARENT_SCOPE)
  sla_find_plain(METIS METIS::METIS metis.h metis)
  if(NOT TARGET METIS::METIS)
    set(${missing} "the component metis needs METIS 5, and none was found; install it (Debian: apt install libmetis-dev)" PARENT_SCOPE)
  endif()
endfunction()

function(sla_find_kahip missing)
  set(${missing} "" PARENT_SCOPE)
  sla_find_plain(KAHIP KaHIP::KaHIP kaHIP_interface.h kahip)
  if(NOT TARGET KaHIP::KaHIP)
    set(${missing} "the component kahip needs KaHIP, and none was found; install it (pip install kahip), and add the folder that \
holds its include and lib, site-packages, to CMAKE_PREFIX_PATH" PARENT_SCOPE)
  endif()
endfunction()

function(sla_find_ptscotch missing)
  sla_find_mpi(no_mpi)
  sla_find_plain(PTSCOTCH PTScotch::PTScotch ptscotch.h ptscotch)
  sla_find_plain(SCOTCH PTScotch::Scotch scotch.h scotch)
  sla_find_plain(PTSCOTCHERR PTScotch::Errors ptscotch.h ptscotcherr)
  set(${missing} "${no_mpi}" PARENT_SCOPE)
  if(no_mpi STREQUAL "" AND (NOT TARGET PTScotch::PTScotch OR NOT TARGET PTScotch::Scotch OR NOT TARGET PTScotch::Errors))
    set(${missing} "the component ptscotch needs PT-Scotch, and none was found; install it (Debian: apt install libptscotch-dev)" PARENT_SCOPE)
  endif()
endfunction()

# Its package files, where it has them, have targets of these names too; plain libraries serve as well.
function(sla_find_suitesparse missing)
  set(${missing} "" PARENT_SCOPE)
  sla_find_plain(CHOLMOD SuiteSparse::CHOLMOD cholmod.h cholmod)
  sla_find_plain(UMFPACK SuiteSparse::UMFPACK umfpack.h umfpack)
  if(NOT TARGET SuiteSparse::CHOLMOD OR NOT TARGET SuiteSparse::UMFPACK)
    set(${missing} "the component suitesparse needs CHOLMOD and UMFPACK of SuiteSparse, and they were not found; install them \
(Debian: apt install libsuitesparse-dev)" PARENT_SCOPE)
  endif()
endfunction()

function(sla_find_spqr missing)
  set(${missing} "" PARENT_SCOPE)
  sla_find_plain(CHOLMOD SuiteSparse::CHOLMOD cholmod.h cholmod)
  sla_find_plain(SPQR SuiteSparse::SPQR SuiteSparseQR.hpp spqr)
  if(NOT TARGET SuiteSparse::CHOLMOD OR NOT TARGET SuiteSparse::SPQR)
    set(${missing} "the component spqr needs SPQR and CHOLMOD of SuiteSparse, and they were not found; install them \
(Debian: apt install libsuitesparse-dev)" PARENT_SCOPE)
  endif()
endfunction()
