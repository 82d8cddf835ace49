// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The macros of the library, all of them. They mark functions for host and device and loops for the vectoriser.
// Nothing here switches a feature: what you include is what you have.
#pragma once

#ifdef __CUDACC__
#define SLA_HD __host__ __device__
#else
#define SLA_HD
#endif

// The iterations of the next loop are independent: evaluation has checked the addresses (expr/access.hpp).
// clang checks them once more at run time: its pragma warns wherever a loop cannot be vectorised for another reason.
#if defined(__GNUC__) && !defined(__clang__)
#define SLA_INDEPENDENT _Pragma("GCC ivdep")
#else
#define SLA_INDEPENDENT
#endif

#include <cstddef>
#include <cstdint>

namespace sla::detail {
/// Asks the cache for the line that lies `bytes` after p; it may lie past the end. Nothing on a device.
SLA_HD inline void prefetch_ahead([[maybe_unused]] void const* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
  __builtin_prefetch(reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(p) + bytes));
#endif
}
}  // namespace sla::detail
