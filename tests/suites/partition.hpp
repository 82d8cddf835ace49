// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tests of partitions share: a grid's coordinates, and owners without order. Matrices without order: suites/spread.hpp.
#pragma once

#include <vector>

#include <sla/dist/partition/strips.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace suite {

/// Where the unknowns of problems::poisson({nx, ny}) lie: rows x 2.
inline sla::matrix<double> grid_coordinates(sla::index_t const (&n)[2]) {
  sla::matrix<double> xy({n[0] * n[1], 2});
  for (sla::index_t i = 0; i < n[0] * n[1]; ++i) xy(i, 0) = double(i % n[0]), xy(i, 1) = double(i / n[0]);
  return xy;
}

/// Rows sharded without order; of many parts the last gets nothing.
inline sla::owner_map scattered_owners(sla::index_t rows, int parts) {
  std::vector<int> owner;
  int const used = parts > 2 ? parts - 1 : parts;
  for (double at : sla::random<double>({rows}, 17)) owner.push_back(int((at + 1) / 2 * used) % used);
  return {owner, parts};
}

/// Owners without order, or those of strips, as a map of the same type.
template <class Sparse>
sla::owner_map owners_for(Sparse const& A, int parts, bool scattered) {
  return scattered ? scattered_owners(A.rows(), parts) : sla::partition(A, parts, sla::strips{});
}

}  // namespace suite
