// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Row kernels of sparse products: runs of rows, written straight to the destination. Every format has the general walk;
// stored diagonals have loops that vectorise. A product picks one by its type (expr/sparse/product.hpp).
#pragma once

#include <utility>

#include <sla/expr/dense/statement.hpp>
#include <sla/tensor/storage/format.hpp>

namespace sla::detail {

/// How many entries ahead of a walk are prefetched. The hardware's own prefetching fails on short rows: without this, a product
/// of five points reaches two thirds of the bandwidth.
inline constexpr index_t fetch_distance = 256;

/// Rows [first, first + count) of item b of scalar entries, one right-hand side: one sum per row.
template <class Product, class T>
SLA_HD void entry_rows(Product const& y, index_t b, index_t first, index_t count, index_t item, T* out) {
  using V = typename Product::value_type;
  auto const A = y.A;
  auto const x = y.x;
  auto const* const values = A.values + b * A.batch_stride;
  index_t const col0 = b * A.shape.cols(), row0 = b * A.shape.rows();
  auto const term = [&](index_t slot, index_t j) {
    return op::mul::apply(A.read(values[slot]), x.at(element{col0 + j, col0 + j, item}));
  };
  if constexpr (requires { A.pattern.row_ptr; }) {
    auto const* const col = A.pattern.col;
    auto const* const row_ptr = A.pattern.row_ptr;
    index_t slot = row_ptr[first];
    for (index_t i = first; i < first + count; ++i) {
      std::size_t const ahead = std::size_t(slot + fetch_distance);
      SLA_PREFETCH(std::uintptr_t(col) + ahead * sizeof(*col));
      SLA_PREFETCH(std::uintptr_t(values) + ahead * sizeof(*values));
      index_t const end = row_ptr[i + 1];
      V total{};
      for (; slot < end; ++slot) total += term(slot, col[slot]);
      out[row0 + i] = scalar_cast<T>(total);
    }
  } else {
    for (index_t i = first; i < first + count; ++i) {
      V total{};
      A.pattern.for_row(i, [&](index_t slot, index_t j) { total += term(slot, j); });
      out[row0 + i] = scalar_cast<T>(total);
    }
  }
}

/// `Lanes` right-hand sides from the k0-th of rows [first, first + count) of item b, sums of a block row in registers.
template <index_t Lanes, class Product, class T>
SLA_HD void walk_lanes(Product const& y, index_t b, index_t first, index_t count, index_t k0, index_t item, T* out) {
  constexpr index_t P = Product::P, Q = Product::Q;
  using V = typename Product::value_type;
  index_t const K = y.rhs(), col0 = b * y.A.shape.cols(), row0 = b * y.A.shape.rows();
  auto const A = y.A;
  auto const x = y.x;
  for (index_t i = first; i < first + count; ++i) {
    V total[P * Lanes] = {};
    A.pattern.for_row(i, [&](index_t slot, index_t j) {
      for (index_t q = 0; q < Q; ++q) {
        index_t const from = (col0 + j) * Q + q, at = from * K + k0;
        for (index_t c = 0; c < P; ++c) {
          auto const a = A.entry(b, slot, c, q);
          for (index_t k = 0; k < Lanes; ++k)
            total[c * Lanes + k] += op::mul::apply(a, x.at(element{at + k, from, item + k0 + k}));
        }
      }
    });
    T* const to = out + (row0 + i) * P * K + k0;
    for (index_t c = 0; c < P; ++c)
      for (index_t k = 0; k < Lanes; ++k) to[c * K + k] = scalar_cast<T>(total[c * Lanes + k]);
  }
}

/// Rows [first, first + count) of item b, walked entry by entry, eight right-hand sides at a time: lanes of a constant
/// number vectorise. The rows of a block stay in the first-level cache while the next lanes read them.
template <class Product, class T>
SLA_HD void walk_rows(Product const& y, index_t b, index_t first, index_t count, index_t item, T* out) {
  if constexpr (Product::has_rhs) {
    index_t const K = y.rhs();
    index_t k = 0;
    for (; k + 8 <= K; k += 8) walk_lanes<8>(y, b, first, count, k, item, out);
    if (K & 4) walk_lanes<4>(y, b, first, count, k, item, out), k += 4;
    if (K & 2) walk_lanes<2>(y, b, first, count, k, item, out), k += 2;
    if (K & 1) walk_lanes<1>(y, b, first, count, k, item, out);
  } else {
    walk_lanes<1>(y, b, first, count, 0, item, out);
  }
}

/// out += the sum of `Count` diagonals from the d-th, for rows that all of them cover; the first group assigns.
template <int Count, class View, class X, class T>
SLA_HD void add_diagonals(View const& A, X const& x, index_t d, index_t b, index_t first, index_t count, index_t item,
                          bool assign, T* out) {
  decltype(A.values) value[Count];
  index_t offset[Count];
  index_t const row0 = b * A.shape.rows(), col0 = b * A.shape.cols();
  for (int n = 0; n < Count; ++n) {
    value[n] = A.values + b * A.batch_stride + (d + n) * A.pattern.rows;
    offset[n] = A.pattern.offset[d + n] + col0;
  }
  // The sum is written out: at -O2 a loop over diagonals would stay one, and its rows would not vectorise.
  auto term = [&](index_t i) {
    auto at = [&](int n) {
      index_t const j = i + offset[n];
      return op::mul::apply(A.read(value[n][i]), x.at(element{j, j, item}));
    };
    return [&]<int... N>(std::integer_sequence<int, N...>) { return (... + at(N)); }(std::make_integer_sequence<int, Count>{});
  };
  auto rows = [&](index_t lo, index_t length) {
    if (assign) {
      SLA_INDEPENDENT
      for (index_t i = lo; i < lo + length; ++i) out[row0 + i] = scalar_cast<T>(term(i));
    } else {
      SLA_INDEPENDENT
      for (index_t i = lo; i < lo + length; ++i) out[row0 + i] = scalar_cast<T>(out[row0 + i] + term(i));
    }
  };
  index_t i = first;
  for (; i + chunk <= first + count; i += chunk) rows(i, chunk);
  rows(i, first + count - i);
}

/// Rows [first, first + count) of item b of stored diagonals with scalar entries and one right-hand side.
template <class View, class X, class T>
SLA_HD void dia_rows(View const& A, X const& x, index_t b, index_t first, index_t count, index_t item, T* out) {
  auto const& p = A.pattern;
  index_t const last = first + count, row0 = b * A.shape.rows();
  auto covers = [&](index_t d) { return first + p.offset[d] >= 0 && last + p.offset[d] <= p.cols; };
  bool assign = true;
  for (index_t d = 0; d < p.diagonals;) {
    auto group = [&](index_t size) {
      bool all = d + size <= p.diagonals;
      for (index_t n = 0; all && n < size; ++n) all = covers(d + n);
      return all;
    };
    if (group(7)) {
      add_diagonals<7>(A, x, d, b, first, count, item, assign, out);
      d += 7;
    } else if (group(5)) {
      add_diagonals<5>(A, x, d, b, first, count, item, assign, out);
      d += 5;
    } else if (group(3)) {
      add_diagonals<3>(A, x, d, b, first, count, item, assign, out);
      d += 3;
    } else {
      if (assign)
        for (index_t i = first; i < last; ++i) out[row0 + i] = T{};
      index_t const lo = first > -p.offset[d] ? first : -p.offset[d];
      index_t const hi = last < p.cols - p.offset[d] ? last : p.cols - p.offset[d];
      if (lo < hi) add_diagonals<1>(A, x, d, b, lo, hi - lo, item, false, out);
      ++d;
    }
    assign = false;
  }
  if (assign)
    for (index_t i = first; i < last; ++i) out[row0 + i] = T{};
}

} // namespace sla::detail
