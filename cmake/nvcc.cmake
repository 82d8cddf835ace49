# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Enables CUDA where nvcc works; CMAKE_CUDA_COMPILER says whether. One shared runtime: naming CUDA::cudart beside the static
# default would link two.
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  enable_language(CUDA)
  # Found where the toolkit is, also where the system does not look for libraries there.
  find_package(CUDAToolkit QUIET)
  list(APPEND CMAKE_BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
endif()
