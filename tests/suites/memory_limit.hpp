// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that runs out of memory at a chosen place.
#pragma once

#include <cstddef>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace suite {

/// While it lives, this process may hold so many bytes more than it does. What earlier tests gave back goes to the system first, so that the place is the
/// same after any of them: Eigen's SparseLU ends where its first arrays find no memory, but frees an array twice where one finds none that grows.
struct memory_limit {
  rlimit before{};
  explicit memory_limit(std::size_t more) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    getrlimit(RLIMIT_AS, &before);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before;
    now.rlim_cur = pages * std::size_t(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &now);
  }
  ~memory_limit() { setrlimit(RLIMIT_AS, &before); }
};
/// Sanitizers reserve addresses of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

} // namespace suite
