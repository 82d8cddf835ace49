// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tensor tests compare with: random triplets, and dense matrices filled by the plainest loops.
#pragma once
#include <vector>

#include <sla/tensor/build/build.hpp>

struct random_triplets {
  sla::index_t rows, cols;
  std::vector<sla::index_t> row, col;
  std::vector<double> value;

  /// n triplets, many of them at the same place when n is large beside rows x cols. Values are small integers: sums are
  /// exact.
  random_triplets(sla::index_t rows_, sla::index_t cols_, sla::index_t n, std::uint64_t seed)
      : rows(rows_), cols(cols_) {
    auto draw = [&](sla::index_t k, sla::index_t below) {
      return sla::index_t((sla::detail::uniform_at(seed, std::uint64_t(k)) + 1) / 2 * double(below));
    };
    for (sla::index_t k = 0; k < n; ++k) {
      row.push_back(draw(3 * k, rows));
      col.push_back(draw(3 * k + 1, cols));
      value.push_back(double(draw(3 * k + 2, 19) - 9));
    }
  }
  std::vector<double> dense() const {
    std::vector<double> out(std::size_t(rows * cols));
    for (std::size_t k = 0; k < row.size(); ++k) out[std::size_t(row[k] * cols + col[k])] += value[k];
    return out;
  }
  template <class T = double, class F = sla::Csr<>>
  auto build() const {
    return sla::from_triplets<T, F>(rows, cols, row, col, value);
  }
};

/// True if A, made dense, has these elements.
template <class A, class V>
bool equals(A const& a, std::vector<V> const& expected) {
  auto const d = to_dense(a);
  if (d.size() != sla::index_t(expected.size())) return false;
  for (sla::index_t n = 0; n < d.size(); ++n)
    if (d[n] != typename A::value_type(expected[std::size_t(n)])) return false;
  return true;
}

/// The transpose of row-major rows x cols elements.
template <class V>
std::vector<V> turned(std::vector<V> const& a, sla::index_t rows, sla::index_t cols) {
  std::vector<V> out(a.size());
  for (sla::index_t i = 0; i < rows; ++i)
    for (sla::index_t j = 0; j < cols; ++j) out[std::size_t(j * rows + i)] = a[std::size_t(i * cols + j)];
  return out;
}
