// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of the host: how many, and loops cut statically into contiguous ranges (so that first touch and use agree).
// With OpenMP when the program is compiled with it, else one thread. What runs in the loops is not here.
#pragma once

#include <algorithm>
#include <exception>

#include <sla/core/shape.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace sla {

namespace detail {
inline thread_local int chosen_threads = 0;
}

/// The number of threads that host loops started from this thread use: `set_threads(n)`, else OpenMP's default.
inline int threads_in_use() {
#ifdef _OPENMP
  return detail::chosen_threads > 0 ? detail::chosen_threads : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Sets that number for this thread; 0 returns to OpenMP's default. How long idle threads of a team spin is OpenMP's affair, and fixed
/// when the program starts: OMP_WAIT_POLICY=passive sends them to sleep at once. Other threads keep theirs: each thread that you start begins
/// with OpenMP's default, each rank of threads::run with its option threads_per_rank.
inline void set_threads(int count) {
  if (count < 0) throw value_error(text("set_threads(", count, "): give a positive number, or 0 for the default"));
  detail::chosen_threads = count;
}

/// f(t) for t = 0 .. count-1, each on its own thread where there are that many. The first exception is rethrown.
template <class F>
void parallel(int count, F const& f) {
  if (count <= 1) {
    if (count == 1) f(0);
    return;
  }
#ifdef _OPENMP
  std::exception_ptr failure;
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int t = 0; t < count; ++t) {
    try {
      f(t);
    } catch (...) {
#pragma omp critical(sla_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
#else
  for (int t = 0; t < count; ++t) f(t);
#endif
}

/// Below this much a loop stays on one thread: rows or entries of set-ups, of some nanoseconds each; and light work, of which a
/// unit is an element that one statement of a pass writes or folds, or an entry of its product. To start a team costs 1 us while
/// its threads spin, 7 us when they sleep, and 10 ms where other programs have their cores. Measured on two cores, in us on one
/// thread and on two that spin: y = 2 x + y of 16000 elements 1.4 and 2.5, 32000: 2.6 and 3.4, 64000: 7.2 and 4.5, 128000: 18 and
/// 9; dot the same; zeros of 256 KB 1.6 and 2.2, 512 KB 3.1 and 2.9, 1 MB 6.3 and 4.6; A x of five points of 2000 rows 3.5 and
/// 2.5, 8000: 15 and 8.4, 32000: 61 and 32.
inline constexpr index_t serial_below = 32768, light_below = 65536;

/// Into how many ranges a loop over n elements is cut, which stays whole below `least`.
inline int parallel_parts(index_t n, index_t least = serial_below) {
  return n < least ? 1 : int((std::min)(index_t(threads_in_use()), n / (least / 2)));
}

/// f(first, last) over a static partition of [0, n) into contiguous ranges, one per thread.
template <class F>
void parallel_ranges(index_t n, F const& f, index_t least = serial_below) {
  int const count = parallel_parts(n, least);
  if (count <= 1) {
    if (n > 0) f(index_t(0), n);
    return;
  }
  parallel(count, [&](int t) { f(n * t / count, n * (t + 1) / count); });
}

} // namespace sla
