// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of transposed products of formats by rows: each row adds to its columns. Threads share the rows, and each one owns the
// columns beside its rows; what a thread has for the columns of others it keeps, until they add it, in the order of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sla/expr/dense/node.hpp>
#include <sla/tensor/storage/format.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla::detail {

/// Adds rows [first, last) of batch item b to their columns, where `to(column)` points to the numbers of a column, of all items: block
/// columns x right-hand sides.
template <class T, class Product, class To>
void scatter_run(Product const& y, index_t b, index_t first, index_t last, To const& to) {
  constexpr index_t P = Product::P, Q = Product::Q;
  auto const A = y.A;
  auto const x = y.x;
  index_t const K = y.rhs(), col0 = b * A.shape.cols(), row0 = b * A.shape.rows();
  auto const of_row = [&](index_t i, index_t from) {
    SLA_PREFETCH(std::uintptr_t(A.values + b * A.batch_stride) + std::size_t(from + fetch_distance) * P * Q * sizeof(*A.values));
    if constexpr (P == 1 && Q == 1 && !Product::has_rhs)
      return [&, values = A.values + b * A.batch_stride, x_i = x.at(element{row0 + i, row0 + i, b})](index_t slot, index_t j) {
        T* const sum = to(col0 + j);
        *sum = scalar_cast<T>(*sum + op::mul::apply(A.read(values[slot]), x_i));
      };
    else
      return [&, from0 = (row0 + i) * P](index_t slot, index_t j) {
        T* const sums = to(col0 + j);
        for (index_t c = 0; c < P; ++c)
          for (index_t q = 0; q < Q; ++q) {
            auto const a = A.entry(b, slot, c, q);
            T* const sum = sums + q * K;
            for (index_t k = 0, at = (from0 + c) * K; k < K; ++k)
              sum[k] = scalar_cast<T>(sum[k] + op::mul::apply(a, x.at(element{at + k, from0 + c, Product::has_rhs ? b * K + k : b})));
          }
      };
  };
  if constexpr (requires { A.pattern.for_rows(first, last, of_row); })
    A.pattern.for_rows(first, last, of_row);
  else
    for (index_t i = first; i < last; ++i) A.pattern.for_row(i, of_row(i, 0));
}

/// scatter_run, as what scatter_rows asks for.
struct scatter_entries {
  template <class Product, class To>
  void operator()(Product const& y, index_t b, index_t first, index_t last, To const& to) const {
    scatter_run<std::remove_pointer_t<decltype(to(0))>>(y, b, first, last, to);
  }
};

/// What one thread does: rows of all items, the columns that it owns, and what it has for the columns of others.
template <class T>
struct scatter_share {
  index_t first_row = 0, last_row = 0, first_col = 0, last_col = 0;
  std::vector<index_t> columns;  ///< the numbers of each are in `numbers`
  std::vector<T> numbers;
  std::vector<T> rest;  ///< numbers of all columns, once there were too many in the list

  /// Ready for the next product, in the room of the last one, if that is not much.
  void clear() {
    columns.clear(), numbers.clear(), rest.clear();
    if (columns.capacity() * sizeof(index_t) + (numbers.capacity() + rest.capacity()) * sizeof(T) > most_kept) columns.shrink_to_fit(), numbers.shrink_to_fit(), rest.shrink_to_fit();
  }
  static constexpr std::size_t most_kept = std::size_t(1) << 24;

  bool owns(index_t column) const { return column >= first_col && column < last_col; }
  /// One more in the list. Apart from the loop over entries, which would lose its registers to it.
  [[gnu::noinline]] T* listed(index_t column, index_t width) {
    columns.push_back(column);
    numbers.resize(columns.size() * std::size_t(width));
    return numbers.data() + numbers.size() - std::size_t(width);
  }
};

/// y = A^T x from `out` on, where y is the node; run adds rows to their columns: scatter_entries, or what does more. The same bits for the same number of threads.
template <class Product, class T, class Run>
void scatter_rows(Product const& y, T* out, Run const& run) {
  index_t const batch = y.A.shape.batch_count(), rows = y.A.shape.rows(), cols = y.A.shape.cols(), width = Product::Q * y.rhs();
  index_t const in_item = rows > 0 ? y.A.pattern.entries_before(rows) : 0;
  auto const at_out = [=](index_t column) { return out + column * width; };
  auto const add_rows = [&](index_t first, index_t last, auto const& to) {
    while (first < last) {
      index_t const b = first / rows, end = (std::min)(last, (b + 1) * rows);
      run(y, b, first - b * rows, end - b * rows, to);
      first = end;
    }
  };
  int const parts = rows > 0 ? parallel_parts(batch * (in_item * Product::P + cols) * width, light_below) : 1;
  if (parts == 1) {
    std::fill(out, at_out(batch * cols), T{});
    add_rows(0, batch * rows, at_out);
    return;
  }

  // As much work for each. A matrix with its entries near a diagonal, whatever its sides, has most columns beside their rows.
  static thread_local std::vector<scatter_share<T>> of_this_thread;
  auto& shares = of_this_thread;  // others work on it too
  shares.resize(std::size_t(parts));
  for (auto& s : shares) s.clear();
  auto const work_before = [&](index_t n) { return double(n / rows) * double(in_item) + double(n % rows ? y.A.pattern.entries_before(n % rows) : 0) + 3.0 * double(n); };
  index_t row = 0, column = 0;
  for (int t = 0; t < parts; ++t) {
    auto& s = shares[std::size_t(t)];
    s.first_row = row, s.first_col = column;
    row = s.last_row = t + 1 < parts ? first_reaching(row, batch * rows, work_before(batch * rows) * (t + 1) / parts, work_before) : batch * rows;
    column = s.last_col = t + 1 < parts ? index_t(double(row) / double(rows) * double(cols)) : batch * cols;
  }
  parallel(parts, [&](int t) {
    auto& s = shares[std::size_t(t)];
    std::fill(at_out(s.first_col), at_out(s.last_col), T{});
    auto const own_or_listed = [&s, own = at_out(s.first_col), first = s.first_col, count = s.last_col - s.first_col, width](index_t j) {
      return std::size_t(j - first) < std::size_t(count) ? own + (j - first) * width : s.listed(j, width);
    };
    index_t n = s.first_row;
    for (std::size_t const most = std::size_t(batch * cols / 16 + 64); n < s.last_row && s.columns.size() < most;) {
      index_t const last = (std::min)(n + 64, s.last_row);
      add_rows(n, last, own_or_listed);
      n = last;
    }
    if (n == s.last_row) return;
    s.rest.assign(std::size_t(batch * cols * width), T{});
    add_rows(n, s.last_row, [rest = s.rest.data(), width](index_t j) { return rest + j * width; });
  });
  parallel(parts, [&](int t) {
    auto const& own = shares[std::size_t(t)];
    for (auto const& s : shares) {
      for (std::size_t n = 0; n < s.columns.size(); ++n)
        if (own.owns(s.columns[n]))
          for (index_t w = 0; w < width; ++w) at_out(s.columns[n])[w] += s.numbers[n * std::size_t(width) + std::size_t(w)];
      if (!s.rest.empty())
        for (index_t e = own.first_col * width; e < own.last_col * width; ++e) out[e] += s.rest[std::size_t(e)];
    }
  });
  for (auto& s : shares) s.clear();
}

} // namespace sla::detail
