// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The macros of the library, all of them. They mark functions for host and device and loops for the vectoriser.
// Nothing here switches a feature: what you include is what you have.
#pragma once

// An #error would be followed by those of all other headers; a header that is missing ends the compilation.
#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#include <sla needs C++20, which the compiler was not asked for: compile with -std=c++20>
#endif
// Of -ffast-math and of its parts; contraction to fused instructions is allowed. clang has no macro of -fassociative-math alone.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "sla: -ffast-math lets the compiler drop the tests for NaN, and the digits by which a solve is judged: compile what includes sla without it, and without its parts -ffinite-math-only and -fassociative-math"
#endif

#ifdef __CUDACC__
#define SLA_HD __host__ __device__
// Before a template for host and device that calls what it is given: a callee of the host makes it one of the host.
#define SLA_AS_CALLEE _Pragma("nv_exec_check_disable")
#else
#define SLA_HD
#define SLA_AS_CALLEE
#endif

// The iterations of the next loop are independent: evaluation has checked the addresses (expr/dense/access.hpp).
// clang checks them once more at run time: its pragma warns wherever a loop cannot be vectorised for another reason.
#if defined(__GNUC__) && !defined(__clang__)
#define SLA_INDEPENDENT _Pragma("GCC ivdep")
#else
#define SLA_INDEPENDENT
#endif

// Are the indices of single elements, x(i), held against extents? Where assertions are on, as of assert: without NDEBUG. Kernels
// do not index so, and are as fast either way.
#ifdef NDEBUG
#define SLA_CHECKED false
#else
#define SLA_CHECKED true
#endif

// What is returned refers to this argument, or behind a member function to its object: clang warns where that is a temporary.
#if defined(__clang__) && !defined(__CUDACC__)
#define SLA_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define SLA_LIFETIMEBOUND
#endif

// Asks the cache for the line at an address, which may lie past an array. A macro: g++ takes a function that only
// prefetches for one without effect, and drops its calls.
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#define SLA_PREFETCH(address) __builtin_prefetch(reinterpret_cast<void const*>(address))
#else
#define SLA_PREFETCH(address) static_cast<void>(address)
#endif
