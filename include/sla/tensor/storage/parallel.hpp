// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of the host: how many, and loops cut statically into contiguous ranges (so that first touch and use agree).
// As many as OpenMP says when the program is compiled with it, else one thread. What runs in the loops is not here.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/core/shape.hpp>
#include <sla/tensor/storage/team.hpp>

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

/// Sets that number for this thread; 0 returns to OpenMP's default. Other threads keep theirs: each thread that you start begins
/// with OpenMP's default, each rank of threads::run with its option threads_per_rank.
template <class = void>
void set_threads(int count) {
  if (count < 0) throw value_error(text("set_threads(", count, "): give a positive number, or 0 for the default"));
  detail::chosen_threads = count;
}

namespace detail {
/// Where OpenMP would put its thread t (OMP_PROC_BIND, OMP_PLACES); elsewhere a helper may go where its owner may.
struct openmp_places {
  template <class Attributes>
  void operator()(Attributes& attributes, int t) const {
#ifdef _OPENMP
    int const places = omp_get_num_places(), threads = omp_get_max_threads(), first = omp_get_place_num();
    auto const bind = omp_get_proc_bind();
    if (bind == omp_proc_bind_false || places <= 0 || first < 0) return;
    int const place = (first + (bind == omp_proc_bind_master ? 0 : bind == omp_proc_bind_spread && threads < places ? t * places / threads : t)) % places;
    std::vector<int> cores(std::size_t(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, cores.data());
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int core : cores) CPU_SET(std::size_t(core), &set);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
#else
    (void)attributes, (void)t;
#endif
  }
};
/// The helpers of this thread, started when they are first wanted.
template <class = void>
team<openmp_places>& own_team() {
  static thread_local team<openmp_places> helpers;
  return helpers;
}
/// May a loop of this thread be shared? Not one inside of another, of ours or of OpenMP's.
inline bool may_share_loops() {
#ifdef _OPENMP
  return !inside_a_loop && !omp_in_parallel();
#else
  return false;
#endif
}
/// `parallel` of a loop whose type is not known: one piece of code for all, and one of each loop.
template <class = void>
void run_parallel(int count, part_of_loop f) {
  if (count > 1 && may_share_loops())
    own_team().run(count, f);
  else
    for (int t = 0; t < count; ++t) f.call(f.f, t);
}
}  // namespace detail

/// f(t) for t = 0 .. count-1, each on its own thread where there are that many. The first exception is rethrown.
template <class F>
void parallel(int count, F const& f) {
  detail::run_parallel(count, {[](void const* g, int t) { (*static_cast<F const*>(g))(t); }, &f});
}

/// Below this much a loop stays on one thread: rows or entries of set-ups, of some nanoseconds each; and light work, of which a
/// unit is an element that one statement of a pass writes or folds, or an entry of its product. To call helpers costs 0.4 us while
/// they look for work and 6 us when they sleep. Measured on two cores, in us on one thread and on two (of OpenMP's, that spin):
/// y = 2 x + y of 16000 elements 1.4 and 2.5, 32000: 2.6 and 3.4, 64000: 7.2 and 4.5, 128000: 18 and 9; dot the same; zeros of
/// 256 KB 1.6 and 2.2, 512 KB 3.1 and 2.9, 1 MB 6.3 and 4.6; A x of five points of 2000 rows 3.5 and 2.5, 8000: 15 and 8.4,
/// 32000: 61 and 32.
inline constexpr index_t serial_below = 32768, light_below = 65536;

/// Into how many ranges a loop over n elements is cut, which stays whole below `least`.
inline int parallel_parts(index_t n, index_t least = serial_below) {
  return n < least ? 1 : int((std::min)(index_t(threads_in_use()), n / (least / 2)));
}

namespace detail {
template <class = void>
void run_ranges(index_t n, index_t least, void (*f)(void const*, index_t, index_t), void const* of) {
  int const count = parallel_parts(n, least);
  if (n > 0) parallel(count, [=](int t) { f(of, n * t / count, n * (t + 1) / count); });
}
}  // namespace detail

/// f(first, last) over a static partition of [0, n) into contiguous ranges, one per thread.
template <class F>
void parallel_ranges(index_t n, F const& f, index_t least = serial_below) {
  detail::run_ranges(n, least, [](void const* g, index_t first, index_t last) { (*static_cast<F const*>(g))(first, last); }, &f);
}

namespace detail {
/// The first n of [lo, hi) before which there is as much work as `enough`; hi, if there is none. work(n) ascends.
template <class Work>
index_t first_reaching(index_t lo, index_t hi, double enough, Work const& work) {
  while (lo < hi) {
    index_t const mid = lo + (hi - lo) / 2;
    if (work(mid) < enough)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/// Inner loops of a constant length vectorise at every optimisation level.
inline constexpr index_t chunk = 256;
} // namespace detail

} // namespace sla
