// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse products as device passes read them: a row by one thread, or by up to a warp of threads where rows are long.
// `for_device` puts them in place of the products of expr/product.hpp, whose text the host runs.
#pragma once

#include <algorithm>
#include <concepts>

#include <sla/exec/cuda/block.cuh>
#include <sla/expr/product.hpp>
#include <sla/expr/reduce.hpp>

namespace sla::cuda {

/// Can a row of this pattern be cut between threads?
template <class Pattern>
inline constexpr bool cuts_rows = requires(Pattern const& p) { p.row_ptr; };

/// Entries lane, lane + width, ... of row i.
template <class Pattern, class F>
SLA_HD void walk_row(Pattern const& pattern, index_t i, int lane, int width, F const& f) {
  if constexpr (cuts_rows<Pattern>) {
    for (index_t s = index_t(pattern.row_ptr[i]) + lane, last = pattern.row_ptr[i + 1]; s < last; s += width)
      f(s, index_t(pattern.col[s]));
  } else {
    (void)lane, (void)width;
    pattern.for_row(i, f);
  }
}

/// y = A x, element by element, `width` threads each.
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

  SLA_HD value_type at(element e) const {
    index_t const k = plain::has_rhs ? e.at - e.row * rhs : 0;
    index_t const line = plain::has_rhs ? e.row : e.at, block_row = line / P, c = line - block_row * P;
    index_t const b = shape_type::is_batched ? block_row / A.shape.rows() : 0, i = block_row - b * A.shape.rows();
    index_t const column0 = b * A.shape.cols();
    auto part = [&](int lane) {
      value_type total{};
      walk_row(A.pattern, i, lane, width, [&](index_t slot, index_t j) {
        for (index_t q = 0; q < Q; ++q) {
          index_t const from = (column0 + j) * Q + q;
          total += op::mul::apply(A.entry(b, slot, c, q), x.at(element{from * rhs + k, from, e.item}));
        }
      });
      return total;
    };
    if constexpr (cuts_rows<typename View::pattern_type>) {
      if (width > 1) return fold_lanes<value_type>(width, part);
    }
    return part(0);
  }
};

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
  template <class View, class X>
  auto operator()(product<View, X> const& y) const {
    auto x = (*this)(y.x);
    return row_product<View, decltype(x)>{y.A, x, y.rhs(), width};
  }
};

/// Does a lowered statement have products, whose rows several threads may share?
template <class S>
inline constexpr bool has_products = !std::same_as<S, decltype(std::declval<S const&>().rebuild(for_device{1}))>;

}  // namespace sla::cuda
