// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a rank takes from the heap, for tests of one file each: the file that includes this replaces operator new.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/assembly/vectors.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/krylov/cg.hpp>

namespace {
// What this thread has taken from the heap and not given back, and the most of it: a rank is a thread.
thread_local std::ptrdiff_t heap_now = 0, heap_peak = 0;
thread_local long heap_calls = 0;
// What all threads have of the heap, and the most that they and tensors had together since `both_watched`: between two calls of the heap it is the most of tensors.
std::atomic<bool> both_watched = false;
std::atomic<std::ptrdiff_t> heap_of_all = 0, both_peak = 0;
void count_both(std::ptrdiff_t bytes) noexcept {
  if (both_watched) {
    std::ptrdiff_t const both = heap_of_all + std::ptrdiff_t(sla::memory_in_use().peak);
    for (std::ptrdiff_t most = both_peak; most < both && !both_peak.compare_exchange_weak(most, both);) {
    }
    sla::memory_peak_reset();
  }
  heap_of_all += bytes;
}
struct alignas(std::max_align_t) heap_header {
  std::size_t bytes;
};
void* take(std::size_t bytes) noexcept {
  void* const p = std::malloc(bytes + sizeof(heap_header));
  if (!p) return nullptr;
  ++heap_calls;
  count_both(std::ptrdiff_t(bytes));
  heap_now += std::ptrdiff_t(bytes);
  heap_peak = heap_now > heap_peak ? heap_now : heap_peak;
  return new (p) heap_header{bytes} + 1;
}
void* take_or_throw(std::size_t bytes) {
  if (void* const p = take(bytes)) return p;
  throw std::bad_alloc();
}
void give(void* p) noexcept {
  if (!p) return;
  auto* const header = static_cast<heap_header*>(p) - 1;
  heap_now -= std::ptrdiff_t(header->bytes);
  count_both(-std::ptrdiff_t(header->bytes));
  std::free(header);
}
} // namespace

// All of them, and weak: a sanitizer that brings its own keeps them, and then tensors alone are counted.
[[gnu::weak]] void* operator new(std::size_t bytes) { return take_or_throw(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes) { return take_or_throw(bytes); }
[[gnu::weak]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return take(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept { return take(bytes); }
[[gnu::weak]] void operator delete(void* p) noexcept { give(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { give(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { give(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { give(p); }
[[gnu::weak]] void operator delete(void* p, std::nothrow_t const&) noexcept { give(p); }
[[gnu::weak]] void operator delete[](void* p, std::nothrow_t const&) noexcept { give(p); }

namespace suite {
/// What f() takes of heap and tensors on all threads at its peak, beyond what there was before.
template <class F>
double peak_of_both(F const& f) {
  sla::memory_peak_reset();
  std::ptrdiff_t const before = both_peak = heap_of_all + std::ptrdiff_t(sla::memory_in_use().now);
  both_watched = true;
  f();
  count_both(0);
  both_watched = false;
  return double(both_peak - before);
}
/// How many more allocations, tensors apart, this rank makes in `most` iterations than in 5, once it has solved before; -1, if it makes others. Collective.
template <class Mesh, class Method, class P>
long allocations_of_iterations(Mesh const& m, Method method, P const& p, int most) {
  method.rtol = 1e-300;
  auto const D = sla::problems::poisson<double>(m, {40, 60});  // a message of 320 bytes, and with ranks that have two neighbours
  auto const b = sla::generate(D.row_layout(), [](sla::index_t i) { return 1.0 / double(i + 1); });
  auto const calls = [&](int wanted) {
    method.max_iterations = wanted;
    auto const s = sla::prepare(D, method, p);
    long fewest = 1L << 30;  // the mailboxes of threads grow where one is ahead, until they are large enough
    int iterations = 0;
    for (int run = 0; run < 6; ++run) {
      long const before = heap_calls;
      iterations = s.try_solve(b).report.iterations();
      if (run > 0) fewest = (std::min)(fewest, heap_calls - before);
    }
    return std::pair{fewest, iterations};
  };
  auto const [few, five] = calls(5);
  auto const [many, all] = calls(most);
  return five == 5 && all == most ? many - few : -1;
}
}  // namespace suite
