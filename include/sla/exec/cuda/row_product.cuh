// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse products as device passes read them: a row by one thread, or by up to a warp of threads where rows are long.
// `for_device` puts them in place of the products of expr/sparse/product.hpp, whose text the host runs.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include <sla/exec/cuda/block.cuh>
#include <sla/expr/dense/reduce.hpp>
#include <sla/expr/dense/statement.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla::cuda {

/// Can a row of this pattern be cut between threads? Its entries lie in one run of columns.
template <class Pattern>
inline constexpr bool cuts_rows = requires(Pattern const& p) {
  p.row_ptr;
  requires slots_by_row<typename Pattern::format_type>;
};

/// f(n) for n = first, first + stride, ... < last; four at a time, so that their loads are under way together.
template <class F>
SLA_HD void in_fours(index_t first, index_t last, int stride, F const& f) {
  index_t n = first;
  for (; n + 3 * stride < last; n += 4 * stride) f(n), f(n + stride), f(n + 2 * stride), f(n + 3 * stride);
  if (n + stride < last) f(n), f(n + stride), n += 2 * stride;
  if (n < last) f(n);
}

/// The slot of entry n, of those of all rows.
template <class Pattern>
SLA_HD index_t slot_of(Pattern const& pattern, index_t n) {
  if constexpr (requires { pattern.source; })
    return pattern.source[n];
  else
    return n;
}

/// f(slot, column, counts) for entries lane, lane + width, ... of row i. An entry that does not count lies outside of the
/// matrix; its slot and column may be read.
template <class Pattern, class F>
SLA_HD void walk_row(Pattern const& pattern, index_t i, int lane, int width, F const& f) {
  if constexpr (cuts_rows<Pattern>) {
    in_fours(index_t(pattern.row_ptr[i]) + lane, pattern.row_ptr[i + 1], width, [&](index_t n) { f(slot_of(pattern, n), index_t(pattern.col[n]), true); });
  } else if constexpr (std::same_as<Pattern, dia_view>) {
    if (pattern.cols == 0) return;
    in_fours(0, pattern.diagonals, 1, [&](index_t d) {
      index_t const j = i + pattern.offset[d], last = pattern.cols - 1;
      f(d * pattern.rows + i, j < 0 ? 0 : j > last ? last : j, j >= 0 && j <= last);
    });
  } else {
    pattern.for_row(i, [&](index_t s, index_t j) { f(s, j, true); });
  }
}

/// Count neighbouring numbers, which go from memory and to it at once: their address is a multiple of their size.
template <class T, int Count>
struct alignas(sizeof(T) * Count) side_by_side {
  T value[Count];

  SLA_HD static side_by_side load(T const* from) {
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<side_by_side const*>(from);
#else
    side_by_side out;
    std::copy(from, from + Count, out.value);
    return out;
#endif
  }
  SLA_HD void store(T* to) const {
#ifdef __CUDA_ARCH__
    *reinterpret_cast<side_by_side*>(to) = *this;
#else
    std::copy(value, value + Count, to);
#endif
  }
  static SLA_HD bool fits(T const* at) { return reinterpret_cast<std::uintptr_t>(at) % sizeof(side_by_side) == 0; }
};

/// y = A x, element by element, `width` threads each. A is read from memory once per `block_threads` right-hand sides: a block
/// takes all of a chunk for its rows.
template <class View, class X>
struct row_product {
  using plain = product<View, X>;
  using expression_tag = void;
  using shape_type = typename View::shape_type;
  using value_type = typename plain::value_type;
  using memory_type = typename X::memory_type;
  using extents_type = typename plain::extents_type;
  static constexpr reach depth = reach::gather;
  static constexpr index_t P = plain::P, Q = plain::Q;

  View A;
  X x;
  index_t rhs;
  int width;

  /// f(entry, row of x, right-hand side, counts) for entries lane, lane + lanes, ... of the row of an element.
  template <class F>
  SLA_HD void walk(element e, int lane, int lanes, F const& f) const {
    index_t const line = plain::has_rhs ? e.row_among(rhs) : e.at, k = plain::has_rhs ? e.at - line * rhs : 0;
    index_t const block_row = line / P, c = line - block_row * P;
    index_t const b = shape_type::is_batched ? block_row / A.shape.rows() : 0, i = block_row - b * A.shape.rows();
    index_t const column0 = b * A.shape.cols();
    walk_row(A.pattern, i, lane, lanes, [&](index_t slot, index_t j, bool counts) {
      for (index_t q = 0; q < Q; ++q) f(A.entry(b, slot, c, q), (column0 + j) * Q + q, k, counts);
    });
  }
  SLA_HD value_type at(element e) const {
    auto part = [&](int lane) {
      value_type total{};
      walk(e, lane, width, [&](auto const& entry, index_t from, index_t k, bool counts) {
        value_type const term = op::mul::apply(entry, x.at(element{from * rhs + k, from, e.item}));
        total += counts ? term : value_type{};
      });
      return total;
    };
    if constexpr (cuts_rows<typename View::pattern_type>) {
      if (width > 1) return fold_lanes<value_type>(width, part);
    }
    return part(0);
  }
  /// The element and those of the next Count - 1 right-hand sides, of an x that lies in memory.
  template <int Count>
  SLA_HD side_by_side<value_type, Count> columns_at(element e) const {
    side_by_side<value_type, Count> total{};
    walk(e, 0, 1, [&](auto const& entry, index_t from, index_t k, bool counts) {
      auto const those = side_by_side<value_type, Count>::load(x.data + (from * rhs + k));
      for (int n = 0; n < Count; ++n) {
        value_type const term = op::mul::apply(entry, those.value[n]);
        total.value[n] += counts ? term : value_type{};
      }
    });
    return total;
  }
};

/// How many neighbouring right-hand sides a thread computes at a time, with loads of 16 bytes, if all lies as it has to: where a statement stores a product with
/// an x in memory, of the same scalars.
template <class S>
inline constexpr int columns_together = 1;
template <class T, class View, class E, class Memory>
  requires(row_product<View, tensor_view<T, E, Memory>>::plain::has_rhs && std::same_as<T, typename row_product<View, tensor_view<T, E, Memory>>::value_type> &&
           sizeof(T) < 16 && 16 % sizeof(T) == 0)
inline constexpr int columns_together<set_statement<T, row_product<View, tensor_view<T, E, Memory>>, Memory>> = int(16 / sizeof(T));

/// One thread for rows of fewer than eight entries on average, else a power of two of threads, two entries or more each.
inline int row_width(index_t slots, index_t rows) {
  int width = 1;
  if (rows > 0 && slots >= 8 * rows)
    while (width < 32 && 4 * width * rows <= slots) width *= 2;
  return width;
}

/// The largest width that a product of a tree asks for.
struct find_width {
  int* width;
  template <class X>
  X operator()(X const& x) const {
    (void)x.rebuild(*this);
    return x;
  }
  template <class View, class X>
  product<View, X> operator()(product<View, X> const& y) const {
    if constexpr (cuts_rows<typename View::pattern_type>)
      *width = (std::max)(*width, row_width(y.A.batch_stride / (y.P * y.Q), y.A.shape.rows()));
    return y;
  }
};

/// The tree with row products of this width.
struct for_device {
  int width;
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class T, class E, class Memory>
  auto operator()(broadcast_view<T, E, Memory> const& x) const {
    return over_columns{}(x);
  }
  template <class View, class X>
  auto operator()(product<View, X> const& y) const {
    auto x = (*this)(y.x);
    return row_product<View, decltype(x)>{y.A, x, y.rhs(), width};
  }
};

/// Does a lowered statement have products, whose rows several threads may share?
template <class S>
inline constexpr bool has_products = !std::same_as<S, decltype(std::declval<S const&>().rebuild(for_device{1}))>;

} // namespace sla::cuda
