// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Row kernels of sparse products: runs of rows, from `out` on. Scalar entries and one right-hand side are for the kernel of the
// format, `sum_rows` of its view, where it has one; blocks and more right-hand sides are walked entry by entry.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/expr/dense/statement.hpp>
#include <sla/tensor/storage/format.hpp>

namespace sla::detail {

/// The terms of a product's rows of batch item b, where entries are scalars and x is one right-hand side: what `sum_rows` adds up.
template <class Product>
struct row_terms {
  using value_type = typename Product::value_type;
  using entry_type = std::remove_cvref_t<decltype(*Product::A.values)>;

  decltype(Product::A) A;
  decltype(Product::x) x;
  entry_type const* values;
  index_t col0, item;

  SLA_HD row_terms(Product const& y, index_t b, index_t of_item)
      : A(y.A), x(y.x), values(y.A.values + b * y.A.batch_stride), col0(b * y.A.shape.cols()), item(of_item) {}
  SLA_HD value_type operator()(index_t slot, index_t j) const {
    index_t const at = Product::shape_type::is_batched ? col0 + j : j;
    return op::mul::apply(A.read(values[slot]), x.at(element{at, at, item}));
  }
  SLA_HD void fetch(index_t slot) const { SLA_PREFETCH(std::uintptr_t(values) + std::size_t(slot) * sizeof(entry_type)); }
};

/// Rows [first, first + count) of item b of scalar entries, one right-hand side, from `out` on.
template <class Product, class T>
SLA_HD void entry_rows(Product const& y, index_t b, index_t first, index_t count, index_t item, T* out) {
  row_terms<Product> const term(y, b, item);
  if constexpr (requires { y.A.pattern.sum_rows(first, count, term, out); }) {
    y.A.pattern.sum_rows(first, count, term, out);
  } else {
    for (index_t n = 0; n < count; ++n) {
      typename Product::value_type total{};
      y.A.pattern.for_row(first + n, [&](index_t slot, index_t j) { total += term(slot, j); });
      out[n] = scalar_cast<T>(total);
    }
  }
}

/// `Lanes` right-hand sides from the k0-th of rows [first, first + count) of item b, sums of a block row in registers.
template <index_t Lanes, class Product, class T>
SLA_HD void walk_lanes(Product const& y, index_t b, index_t first, index_t count, index_t k0, index_t item, T* out) {
  constexpr index_t P = Product::P, Q = Product::Q;
  using V = typename Product::value_type;
  index_t const K = y.rhs(), col0 = b * y.A.shape.cols();
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
    T* const to = out + (i - first) * P * K + k0;
    for (index_t c = 0; c < P; ++c)
      for (index_t k = 0; k < Lanes; ++k) to[c * K + k] = scalar_cast<T>(total[c * Lanes + k]);
  }
}

/// One right-hand side of small blocks.
template <class Product, class T>
SLA_HD void walk_blocks(Product const& y, index_t b, index_t first, index_t count, index_t item, T* out) {
  constexpr std::make_integer_sequence<index_t, Product::P> rows{};
  constexpr std::make_integer_sequence<index_t, Product::Q> cols{};
  index_t const col0 = b * y.A.shape.cols();
  auto const A = y.A;
  auto const x = y.x;
  for (index_t i = first; i < first + count; ++i) {
    typename Product::value_type total[Product::P] = {};
    A.pattern.for_row(i, [&](index_t slot, index_t j) {
      written_out(cols, [&](index_t q) {
        index_t const from = (col0 + j) * Product::Q + q;
        auto const x_q = x.at(element{from, from, item});
        written_out(rows, [&](index_t c) { total[c] += op::mul::apply(A.entry(b, slot, c, q), x_q); });
      });
    });
    written_out(rows, [&](index_t c) { out[(i - first) * Product::P + c] = scalar_cast<T>(total[c]); });
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
  } else if constexpr (Product::P * Product::Q <= 36) {
    walk_blocks(y, b, first, count, item, out);
  } else {
    walk_lanes<1>(y, b, first, count, 0, item, out);
  }
}

} // namespace sla::detail
