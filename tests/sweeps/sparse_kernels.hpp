// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of sparse operations for the placement fuzz. They find their entries by global indices; one that the rank
// does not have makes the result worthless.
#pragma once
#include "spmd/fuzz.hpp"

namespace fuzz {

/// Where this rank has the global index; -1: nowhere.
inline std::vector<int> places(std::vector<int> const& held, int extent) {
  std::vector<int> at(static_cast<std::size_t>(extent), -1);
  for (std::size_t j = 0; j < held.size(); ++j) at[static_cast<std::size_t>(held[j])] = static_cast<int>(j);
  return at;
}

/// y = A X with one or more columns (a vector has none), or with the transposed A.
struct sparse_product {
  sim::sparse_pattern const& pattern;
  bool transposed = false;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A, array<T> const& x) const {
    auto const& row = transposed ? pattern.column : pattern.row;
    auto const& column = transposed ? pattern.row : pattern.column;
    int const extent = transposed ? pattern.columns : pattern.rows;
    auto const mine = here.result(0, 0, extent);
    auto const to = places(mine, extent), from = places(here.in[1][0], transposed ? pattern.rows : pattern.columns);
    array<T> y(sim::with_extent(x, 0, sim::count(mine)));
    int const wide = x.inner(0);
    for (int k = 0; k < A.size(); ++k) {
      auto const e = static_cast<std::size_t>(here.in[0][0][static_cast<std::size_t>(k)]);
      int const i = to[static_cast<std::size_t>(row[e])], j = from[static_cast<std::size_t>(column[e])];
      if (i < 0 || j < 0) return sim::no_result<T>();
      for (int c = 0; c < wide; ++c) y[i * wide + c] = y[i * wide + c] + A[k] * x[j * wide + c];
    }
    return y;
  }
};

/// The entries of U V^T on the pattern.
struct sampled_product {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A, array<T> const& u, array<T> const& v) const {
    auto const row = places(here.in[1][0], pattern.rows), column = places(here.in[2][0], pattern.columns);
    if (u.inner(0) != v.inner(0)) return sim::no_result<T>();
    array<T> y(A.extents);
    for (int k = 0; k < A.size(); ++k) {
      auto const e = static_cast<std::size_t>(here.in[0][0][static_cast<std::size_t>(k)]);
      int const i = row[static_cast<std::size_t>(pattern.row[e])],
                j = column[static_cast<std::size_t>(pattern.column[e])];
      if (i < 0 || j < 0) return sim::no_result<T>();
      for (int c = 0; c < u.inner(0); ++c) y[k] = y[k] + u[i * u.inner(0) + c] * v[j * u.inner(0) + c];
    }
    return y;
  }
};
struct scaled_rows {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& d, array<T> const& A) const {
    auto const row = places(here.in[0][0], pattern.rows);
    auto y = A;
    for (int k = 0; k < A.size(); ++k) {
      auto const e = static_cast<std::size_t>(here.in[1][0][static_cast<std::size_t>(k)]);
      int const i = row[static_cast<std::size_t>(pattern.row[e])];
      if (i < 0) return sim::no_result<T>();
      y[k] = d[i] * A[k];
    }
    return y;
  }
};

/// y = A x of a batch of matrices with dense blocks: A [B, entries, p, q], x [B, N, q] or [N, q], y [B, M, p].
struct block_product {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A, array<T> const& x) const {
    auto const mine = here.result(0, 1, pattern.rows);
    bool const shared = x.rank() == 2;
    auto const to = places(mine, pattern.rows), from = places(here.in[1][shared ? 0 : 1], pattern.columns);
    int const batch = A.extent(0), p = A.extent(2), q = A.extent(3), n_x = x.extent(shared ? 0 : 1);
    if (x.extent(x.rank() - 1) != q || (!shared && x.extent(0) != batch)) return sim::no_result<T>();
    array<T> y({batch, sim::count(mine), p});
    for (int b = 0; b < batch; ++b)
      for (int k = 0; k < A.extent(1); ++k) {
        auto const e = static_cast<std::size_t>(here.in[0][1][static_cast<std::size_t>(k)]);
        int const i = to[static_cast<std::size_t>(pattern.row[e])],
                  j = from[static_cast<std::size_t>(pattern.column[e])];
        if (i < 0 || j < 0) return sim::no_result<T>();
        for (int r = 0; r < p; ++r)
          for (int c = 0; c < q; ++c) y(b, i, r) = y(b, i, r) + A(b, k, r, c) * x[((shared ? 0 : b) * n_x + j) * q + c];
      }
    return y;
  }
};

/// The sampled product of the same: U [B, M, p] or [B, M, p, K], and V.
struct sampled_blocks {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A, array<T> const& u, array<T> const& v) const {
    auto const row = places(here.in[1][1], pattern.rows), column = places(here.in[2][1], pattern.columns);
    int const batch = A.extent(0), p = A.extent(2), q = A.extent(3), terms = u.inner(2);
    if (u.extent(0) != batch || v.extent(0) != batch || u.extent(2) != p || v.extent(2) != q || v.inner(2) != terms)
      return sim::no_result<T>();
    array<T> y(A.extents);
    for (int b = 0; b < batch; ++b)
      for (int k = 0; k < A.extent(1); ++k) {
        auto const e = static_cast<std::size_t>(here.in[0][1][static_cast<std::size_t>(k)]);
        int const i = row[static_cast<std::size_t>(pattern.row[e])],
                  j = column[static_cast<std::size_t>(pattern.column[e])];
        if (i < 0 || j < 0) return sim::no_result<T>();
        for (int r = 0; r < p; ++r)
          for (int c = 0; c < q; ++c)
            for (int t = 0; t < terms; ++t)
              y(b, k, r, c) = y(b, k, r, c) + u[((b * u.extent(1) + i) * p + r) * terms + t] *
                                                  v[((b * v.extent(1) + j) * q + c) * terms + t];
      }
    return y;
  }
};
/// Its rows or columns scaled by d [B, M, p] or [B, N, q].
struct scaled_blocks {
  sim::sparse_pattern const& pattern;
  bool of_columns = false;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& d, array<T> const& A) const {
    auto const& line = of_columns ? pattern.column : pattern.row;
    auto const at = places(here.in[0][1], of_columns ? pattern.columns : pattern.rows);
    int const batch = A.extent(0), p = A.extent(2), q = A.extent(3);
    if (d.extent(0) != batch || d.extent(2) != (of_columns ? q : p)) return sim::no_result<T>();
    auto y = A;
    for (int b = 0; b < batch; ++b)
      for (int k = 0; k < A.extent(1); ++k) {
        auto const e = static_cast<std::size_t>(here.in[1][1][static_cast<std::size_t>(k)]);
        int const i = at[static_cast<std::size_t>(line[e])];
        if (i < 0) return sim::no_result<T>();
        for (int r = 0; r < p; ++r)
          for (int c = 0; c < q; ++c) y(b, k, r, c) = d(b, i, of_columns ? c : r) * A(b, k, r, c);
      }
    return y;
  }
};

/// The diagonal; entries that the rank does not have are zeros.
struct diagonal_entries {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A) const {
    auto const mine = here.result(0, 0, pattern.rows), at = places(mine, pattern.rows);
    array<T> y({sim::count(mine)});
    for (int k = 0; k < A.size(); ++k) {
      auto const e = static_cast<std::size_t>(here.in[0][0][static_cast<std::size_t>(k)]);
      if (pattern.row[e] != pattern.column[e]) continue;
      int const i = at[static_cast<std::size_t>(pattern.row[e])];
      if (i < 0) return sim::no_result<T>();
      y[i] = y[i] + A[k];
    }
    return y;
  }
};

/// A + B, entry by entry, whatever the batch and the blocks.
struct entries_added {
  template <class T>
  array<T> operator()(array<T> const& A, array<T> const& B) const {
    if (A.extents != B.extents) return sim::no_result<T>();
    auto y = A;
    for (int k = 0; k < A.size(); ++k) y[k] = A[k] + B[k];
    return y;
  }
};

/// The local preconditioner that does not depend on who has which rows: x divided by the diagonal. x [M] or [M, K].
struct divided_by_diagonal {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A, array<T> const& x) const {
    auto y = x;
    std::vector<bool> done(static_cast<std::size_t>(x.extent(0)), false);
    auto const at = places(here.in[1][0], pattern.rows);
    for (int k = 0; k < A.size(); ++k) {
      auto const e = static_cast<std::size_t>(here.in[0][0][static_cast<std::size_t>(k)]);
      if (pattern.row[e] != pattern.column[e]) continue;
      int const i = at[static_cast<std::size_t>(pattern.row[e])];
      if (i < 0) return sim::no_result<T>();
      for (int c = 0; c < x.inner(0); ++c) y[i * x.inner(0) + c] = x[i * x.inner(0) + c] / A[k];
      done[static_cast<std::size_t>(i)] = true;
    }
    for (bool d : done)
      if (!d) return sim::no_result<T>();
    return y;
  }
};

/// A batch of lower triangular matrices A [B, entries] and right-hand sides b [B, M, K] or [M, K], solved directly.
struct triangular_solve {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(sim::rank_indices const& here, array<T> const& A, array<T> const& b) const {
    bool const shared = b.rank() == 2;
    auto const& entries = here.in[0][1];
    int const batch = A.extent(0), m = pattern.rows, columns = b.extent(b.rank() - 1);
    if (sim::count(entries) != sim::count(pattern.row) || b.extent(shared ? 0 : 1) != m) return sim::no_result<T>();
    if (!shared && b.extent(0) != batch) return sim::no_result<T>();
    array<T> x({batch, m, columns});
    for (int n = 0; n < batch; ++n)
      for (int c = 0; c < columns; ++c)
        for (int i = 0; i < m; ++i) {
          T left = b[((shared ? 0 : n) * m + i) * columns + c], pivot(1);
          for (int k = 0; k < A.extent(1); ++k) {
            auto const e = static_cast<std::size_t>(entries[static_cast<std::size_t>(k)]);
            if (pattern.row[e] != i) continue;
            if (pattern.column[e] == i)
              pivot = A(n, k);
            else
              left = left - A(n, k) * x(n, pattern.column[e], c);
          }
          x(n, i, c) = left / pivot;
        }
    return x;
  }
};

} // namespace fuzz
