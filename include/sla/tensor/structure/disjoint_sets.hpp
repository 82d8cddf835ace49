// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Disjoint sets of rows, which several threads join: the parts of a graph.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include <sla/tensor/storage/memory.hpp>

namespace sla::detail {

/// Disjoint sets that threads join at once: a root is hung below a smaller one only, so that there are no cycles and the
/// last root is the smallest element. Source: Anderson, Woll, Wait-free parallel algorithms for the union-find problem
/// (STOC 1991).
class disjoint_sets {
public:
  template <class = void>
  explicit disjoint_sets(index_t n) : parent_(std::size_t(n)) {
    parallel_ranges(n, [&](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) at(i).store(i, std::memory_order_relaxed);
    });
  }
  template <class = void>
  index_t find(index_t i) {
    for (;;) {
      index_t above = at(i).load(std::memory_order_relaxed);
      if (above == i) return i;
      index_t const next = at(above).load(std::memory_order_relaxed);
      if (next != above) at(i).compare_exchange_weak(above, next, std::memory_order_relaxed);
      i = next;
    }
  }
  template <class = void>
  void join(index_t i, index_t j) {
    for (;;) {
      i = find(i), j = find(j);
      if (i == j) return;
      if (i < j) std::swap(i, j);
      index_t root = i;
      if (at(i).compare_exchange_strong(root, j, std::memory_order_relaxed)) return;
    }
  }

private:
  std::atomic<index_t>& at(index_t i) { return parent_[std::size_t(i)]; }
  std::vector<std::atomic<index_t>> parent_;
};

} // namespace sla::detail
