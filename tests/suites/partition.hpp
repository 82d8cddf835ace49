// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tests of partitions share: a grid's coordinates, a matrix without structure, owners without structure.
#pragma once

#include <vector>

#include <sla/dist/partition/strips.hpp>
#include <sla/tensor/build.hpp>

namespace suite {

/// Where the unknowns of problems::poisson({nx, ny}) lie: rows x 2.
inline sla::matrix<double> grid_coordinates(sla::index_t const (&n)[2]) {
  sla::matrix<double> xy({n[0] * n[1], 2});
  for (sla::index_t i = 0; i < n[0] * n[1]; ++i) xy(i, 0) = double(i % n[0]), xy(i, 1) = double(i / n[0]);
  return xy;
}

/// The same numbers everywhere, without order.
inline sla::index_t scramble(sla::index_t n, sla::index_t below) {
  auto const mixed = (std::uint64_t(n) + 1) * 0x9e3779b97f4a7c15ULL;
  return sla::index_t((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ULL >> 33) % below;
}

/// Unsymmetric, with empty rows; repeated places are summed.
inline sla::sparse_tensor<double> scattered(sla::index_t rows, sla::index_t cols, sla::index_t entries) {
  std::vector<sla::index_t> row, col;
  std::vector<double> value;
  for (sla::index_t n = 0; n < entries; ++n) {
    row.push_back(scramble(2 * n, rows));
    col.push_back(scramble(2 * n + 1, cols));
    value.push_back(double(scramble(n, 100)) / 50 - 1);
  }
  return sla::from_triplets<double>(rows, cols, row, col, value);
}

/// Rows dealt out without order; of many parts the last gets nothing.
inline sla::owner_map scattered_owners(sla::index_t rows, int parts) {
  std::vector<int> owner;
  for (sla::index_t i = 0; i < rows; ++i) owner.push_back(int(scramble(i + 7, parts > 2 ? parts - 1 : parts)));
  return {owner, parts};
}

/// Owners without order, or those of strips, as a map of the same type.
template <class Sparse>
sla::owner_map owners_for(Sparse const& A, int parts, bool scattered) {
  return scattered ? scattered_owners(A.rows(), parts) : sla::partition(A, parts, sla::strips{});
}

}  // namespace suite
