// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense oracle: products by definition, entry by entry, on plain arrays.
#pragma once

#include <algorithm>
#include <complex>
#include <utility>
#include <vector>

#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace oracle {
using sla::index_t;

/// Entry (b, i, j) of A as a dense (batch x M P x N Q) array.
template <class T, class S, class F>
std::vector<T> dense(sla::sparse_tensor<T, S, F> const& A) {
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  index_t const rows = A.rows() * P, cols = A.cols() * Q;
  std::vector<T> entries(std::size_t(A.batch_count() * rows * cols));
  auto const view = A.pattern().view();
  for (index_t b = 0; b < A.batch_count(); ++b)
    for (index_t i = 0; i < A.rows(); ++i)
      view.for_row(i, [&](index_t slot, index_t j) {
        for (index_t p = 0; p < P; ++p)
          for (index_t q = 0; q < Q; ++q)
            entries[std::size_t((b * rows + i * P + p) * cols + j * Q + q)] +=
                A.values()[b * A.batch_stride() + (slot * P + p) * Q + q];
      });
  return entries;
}

/// y = A x for each batch item and right-hand side; x is [batch][cols][rhs].
template <class T, class X>
std::vector<T> product(std::vector<T> const& A, X const* x, index_t batch, index_t rows, index_t cols, index_t rhs, bool transposed = false,
                       bool conjugated = false) {
  index_t const out_rows = transposed ? cols : rows, in_rows = transposed ? rows : cols;
  std::vector<T> y(std::size_t(batch * out_rows * rhs));
  for (index_t b = 0; b < batch; ++b)
    for (index_t i = 0; i < out_rows; ++i)
      for (index_t j = 0; j < in_rows; ++j) {
        T a = A[std::size_t(b * rows * cols + (transposed ? j * cols + i : i * cols + j))];
        if constexpr (sla::is_complex<T>)
          if (conjugated) a = std::conj(a);
        for (index_t k = 0; k < rhs; ++k)
          y[std::size_t((b * out_rows + i) * rhs + k)] += a * T(x[(b * in_rows + j) * rhs + k]);
      }
  return y;
}

/// A x = b for n x n matrices by Gaussian elimination with row pivoting, for each batch item and right-hand side.
template <class T>
std::vector<T> solution(std::vector<T> a, std::vector<T> x, index_t n) {
  index_t const batch = index_t(a.size()) / (n * n), rhs = index_t(x.size()) / (batch * n);
  for (index_t item = 0; item < batch; ++item) {
    auto at = [&](index_t i, index_t j) -> T& { return a[std::size_t((item * n + i) * n + j)]; };
    auto row = [&](index_t i, index_t k) -> T& { return x[std::size_t((item * n + i) * rhs + k)]; };
    for (index_t c = 0; c < n; ++c) {
      index_t pivot = c;
      for (index_t i = c; i < n; ++i)
        if (std::abs(at(i, c)) > std::abs(at(pivot, c))) pivot = i;
      for (index_t j = 0; j < n; ++j) std::swap(at(c, j), at(pivot, j));
      for (index_t k = 0; k < rhs; ++k) std::swap(row(c, k), row(pivot, k));
      for (index_t i = c + 1; i < n; ++i) {
        T const f = at(i, c) / at(c, c);
        for (index_t j = c; j < n; ++j) at(i, j) -= f * at(c, j);
        for (index_t k = 0; k < rhs; ++k) row(i, k) -= f * row(c, k);
      }
    }
    for (index_t c = n; c-- > 0;)
      for (index_t k = 0; k < rhs; ++k) {
        for (index_t j = c + 1; j < n; ++j) row(c, k) -= at(c, j) * row(j, k);
        row(c, k) /= at(c, c);
      }
  }
  return x;
}
/// Unit matrices, [batch][n][n].
template <class T>
std::vector<T> units(index_t batch, index_t n) {
  std::vector<T> one(std::size_t(batch * n * n));
  for (index_t i = 0; i < batch * n; ++i) one[std::size_t(i * n + i % n)] = T(1);
  return one;
}

/// The largest |x_n - y_n|.
template <class X, class Y>
double distance(X const& x, Y const& y) {
  double largest = 0;
  for (index_t n = 0; n < index_t(x.size()); ++n)
    largest = (std::max)(largest, double(std::abs(x[std::size_t(n)] - y[std::size_t(n)])));
  return largest;
}
}  // namespace oracle
