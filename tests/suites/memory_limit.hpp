// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that runs out of memory at a chosen place.
#pragma once

#include <cstddef>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace suite {

/// While it lives, this process may hold so many bytes more than it does.
struct memory_limit {
  rlimit before{};
  explicit memory_limit(std::size_t more) {
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
