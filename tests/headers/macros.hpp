// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a user's file may have seen before it includes sla: <complex.h> defines I, <termios.h> B0, <windows.h> the others.
// The foreign headers come first, since they need not survive these macros; sla must.
#pragma once
#include <bits/stdc++.h>

#ifdef __CUDACC__
#define EIGEN_NO_CUDA // as adapter/eigen.hpp does
#endif
#include <Eigen/Sparse>

#ifdef _OPENMP
#include <omp.h>
#endif
#if __has_include(<mpi.h>)
#include <mpi.h>
#endif
#if __has_include(<zlib.h>)
#include <zlib.h>
#endif
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

#undef I
#undef B0
#undef small
#undef min
#undef max
#define I @
#define B0 @
#define small @
#define min(a, b) @
#define max(a, b) @
