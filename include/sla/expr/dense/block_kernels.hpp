// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Row kernels of blocks of vectors, whose columns lie side by side in each row: inner products of columns, and their linear
// combinations. Both are sums of outer products of short runs, kept in registers.
#pragma once

#include <concepts>
#include <cstring>

#include <sla/expr/dense/statement.hpp>

namespace sla::detail {

/// How many neighbouring numbers are computed at once: one, but for real numbers, of which a register of the machine has more.
template <class A>
inline constexpr int most_lanes = 1;
/// Count numbers that are computed at once.
template <class A, int Count>
struct lanes {
  using type = A;
};
#ifdef __GNUC__
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif
template <>
inline constexpr int most_lanes<double> = register_bytes / 8;
template <>
inline constexpr int most_lanes<float> = register_bytes / 4;
template <class A, int Count>
  requires(Count > 1)
struct lanes<A, Count> {
  typedef A type __attribute__((vector_size(Count * sizeof(A))));
};
#endif
/// The numbers from `from` on.
template <class A, int Count, class T>
typename lanes<A, Count>::type load_lanes(T const* from) {
  if constexpr (Count == 1) {
    return A(*from);
  } else {
    typename lanes<A, Count>::type x;
    if constexpr (std::same_as<A, T>)
      std::memcpy(&x, from, sizeof x);
    else
      for (int n = 0; n < Count; ++n) x[n] = A(from[n]);
    return x;
  }
}
/// Writes them from `to` on; adds them to what is there, if Inner.
template <class A, int Count, bool Inner, class T>
void store_lanes(typename lanes<A, Count>::type x, T* to) {
  if constexpr (Count == 1) {
    *to = scalar_cast<T>(Inner ? A(*to) + x : x);
  } else {
    if constexpr (Inner) x += load_lanes<A, Count>(to);
    if constexpr (std::same_as<A, T>)
      std::memcpy(to, &x, sizeof x);
    else
      for (int n = 0; n < Count; ++n) to[n] = T(x[n]);
  }
}

/// Where the factors of a sum of outer products lie: the left one of term t and row a is left[t * step + a * apart], the right one of
/// column b is right[t * right_step + b].
template <class V, class W>
struct outer_products {
  V const* left;
  index_t step, apart;
  W const* right;
  index_t right_step, terms;
};

/// out(a, b) for Rows rows from a0 and Columns times Count columns from b0 on.
template <class A, bool Inner, int Rows, int Columns, int Count, class V, class W, class T>
void sum_tile(outer_products<V, W> const& of, index_t a0, index_t b0, T* out, index_t stride) {
  constexpr std::make_integer_sequence<index_t, Rows> rows{};
  constexpr std::make_integer_sequence<index_t, Columns> columns{};
  using Lanes = typename lanes<A, Count>::type;
  Lanes sum[Rows][Columns] = {};
  V const* left = of.left + a0 * of.apart;
  W const* right = of.right + b0;
  index_t const apart = of.apart;
  for (index_t t = 0; t < of.terms; ++t, left += of.step, right += of.right_step) {
    Lanes w[Columns];
    written_out(columns, [&](index_t b) { w[b] = load_lanes<A, Count>(right + b * Count); });
    written_out(rows, [&](index_t a) {
      A v = A(left[a * apart]);
      if constexpr (Inner) v = conj_of(v);
      written_out(columns, [&](index_t b) { sum[a][b] += v * w[b]; });
    });
  }
  written_out(rows, [&](index_t a) {
    written_out(columns, [&](index_t b) { store_lanes<A, Count, Inner>(sum[a][b], out + (a0 + a) * stride + b0 + b * Count); });
  });
}
template <class A, bool Inner, int Rows, int Columns, int Count, class V, class W, class T>
void sum_strip(outer_products<V, W> const& of, index_t rows, index_t b0, T* out, index_t stride) {
  index_t a = 0;
  for (; a + Rows <= rows; a += Rows) sum_tile<A, Inner, Rows, Columns, Count>(of, a, b0, out, stride);
  if constexpr (Rows > 4)
    if (rows - a >= 4) sum_tile<A, Inner, 4, Columns, Count>(of, a, b0, out, stride), a += 4;
  if (rows - a >= 2) sum_tile<A, Inner, 2, Columns, Count>(of, a, b0, out, stride), a += 2;
  if (rows - a >= 1) sum_tile<A, Inner, 1, Columns, Count>(of, a, b0, out, stride);
}
/// The columns from b on, Count at a time, and what is left by fewer. Half: of rows, only those that begin on the diagonal or above it.
template <class A, bool Inner, bool Half, int Count, class V, class W, class T>
void sum_columns(outer_products<V, W> const& of, index_t rows, index_t b, index_t columns, T* out, index_t stride) {
  for (; b + Count <= columns; b += Count) sum_strip<A, Inner, 8, 1, Count>(of, Half ? b + Count : rows, b, out, stride);
  if constexpr (Count > 1) sum_columns<A, Inner, Half, Count / 2>(of, rows, b, columns, out, stride);
}
/// out(a, b) of all rows and columns, eight registers at a time. Inner products conjugate the left factor and add to what is in out.
template <class A, bool Inner, bool Half = false, class V, class W, class T>
void sum_outer_products(outer_products<V, W> const& of, index_t rows, index_t columns, T* out, index_t stride) {
  constexpr int wide = most_lanes<A>;
  index_t b = 0;
  for (; b + 2 * wide <= columns; b += 2 * wide) sum_strip<A, Inner, 4, 2, wide>(of, Half ? b + 2 * wide : rows, b, out, stride);
  sum_columns<A, Inner, Half, wide>(of, rows, b, columns, out, stride);
}

/// total(a, b) += sum of conj(v(i, a)) w(i, b) over rows of k and m numbers; the rows of `total` are `stride` numbers long. Where w is v, what is below the
/// diagonal is what is above it.
template <class A, class V, class W>
void gram_rows(V const* v, index_t k, W const* w, index_t m, index_t rows, A* total, index_t stride) {
  outer_products<V, W> const of{v, k, 1, w, m, rows};
  if (k != m || static_cast<void const*>(v) != static_cast<void const*>(w)) return sum_outer_products<A, true>(of, k, m, total, stride);
  sum_outer_products<A, true, true>(of, k, m, total, stride);
  for (index_t a = 1; a < k; ++a)
    for (index_t b = 0; b < a; ++b) total[a * stride + b] = conj_of(total[b * stride + a]);
}

/// Where the columns of V C come from, if each of the m columns of C has one number at most.
template <int Most>
struct picked_columns {
  int from[Most];
  bool is_so = true;

  template <class C>
  picked_columns(C const* c, index_t stride, index_t k, index_t m) {
    bool seen[Most] = {};
    for (index_t b = 0; b < m; ++b) from[b] = 0;
    for (index_t a = 0; a < k && is_so; ++a)
      for (index_t b = 0; b < m; ++b) {
        bool const here = c[a * stride + b] != C{};
        is_so &= !(here && seen[b]);
        seen[b] |= here;
        from[b] = here ? int(a) : from[b];
      }
  }
};
/// out = v c: rows of k numbers become rows of m <= Most. Where out is v, so that m is k, a row is written when all of it has been read.
template <int Most, class V, class C, class T>
void combine_rows(V const* v, index_t k, C const* c, index_t stride, index_t m, index_t rows, T* out) {
  using A = decltype(op::mul::apply(C{}, V{}));
  if (static_cast<void const*>(v) != static_cast<void const*>(out)) {
    picked_columns<Most> const picked(c, stride, k, m);
    if (!picked.is_so) return sum_outer_products<A, false>(outer_products<V, C>{v, 1, k, c, stride, k}, rows, m, out, m);
    A times[Most];
    for (index_t b = 0; b < m; ++b) times[b] = A(c[picked.from[b] * stride + b]);
    for (index_t i = 0; i < rows; ++i)
      for (index_t b = 0; b < m; ++b) out[i * m + b] = scalar_cast<T>(op::mul::apply(times[b], v[i * k + picked.from[b]]));
    return;
  }
  constexpr index_t at_once = 8;
  T row[at_once * Most];
  for (index_t i = 0; i < rows; i += at_once) {
    index_t const count = rows - i < at_once ? rows - i : at_once;
    sum_outer_products<A, false>(outer_products<V, C>{v + i * k, 1, k, c, stride, k}, count, m, row, m);
    std::memcpy(out + i * m, row, std::size_t(count * m) * sizeof(T));
  }
}

} // namespace sla::detail
