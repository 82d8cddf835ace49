// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices of grids that tests of multigrid and its benchmark share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/build/build.hpp>

namespace suite {

/// The rows of each window of 4096 in an order of chance: a grid that no numbering shows.
inline sla::sparse_tensor<double> shuffled(sla::sparse_tensor<double> const& A) {
  using sla::index_t;
  index_t const n = A.rows();
  std::vector<index_t> to(static_cast<std::size_t>(n));
  std::iota(to.begin(), to.end(), index_t(0));
  std::uint64_t state = 7;
  for (index_t w = 0; w < n; w += 4096)
    for (index_t i = (std::min)(n, w + 4096) - 1; i > w; --i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::swap(to[std::size_t(i)], to[std::size_t(w + index_t((state >> 33) % std::uint64_t(i - w + 1)))]);
    }
  return permuted(A, sla::inverse_permutation(to));
}

/// Nine points: diffusion 1 along an axis turned by 30 degrees, epsilon across (Trottenberg, Oosterlee, Schueller, Multigrid, section 4.6).
inline sla::sparse_tensor<double> rotated(sla::index_t n, double epsilon) {
  using sla::index_t;
  double const c = std::cos(std::acos(-1.0) / 6), s = 0.5;
  double const xx = c * c + epsilon * s * s, yy = s * s + epsilon * c * c, xy = (1 - epsilon) * c * s / 2;
  std::vector<index_t> rows, cols;
  std::vector<double> values;
  for (index_t y = 0; y < n; ++y)
    for (index_t x = 0; x < n; ++x)
      for (index_t v = -1; v <= 1; ++v)
        for (index_t u = -1; u <= 1; ++u) {
          if (x + u < 0 || x + u >= n || y + v < 0 || y + v >= n) continue;
          double const a = u == 0 && v == 0 ? 2 * xx + 2 * yy : v == 0 ? -xx : u == 0 ? -yy : double(-u * v) * xy;
          rows.push_back(y * n + x), cols.push_back((y + v) * n + x + u), values.push_back(a);
        }
  return sla::from_triplets<double>(n * n, n * n, rows, cols, values);
}

} // namespace suite
