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
#include <sla/tensor/problems/random_problems.hpp>

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

/// -epsilon Laplace(u) + v . grad(u), by upwind differences on n x n points, where v turns around the middle.
inline sla::sparse_tensor<double> recirculating(sla::index_t n, double epsilon) {
  sla::triplets<double> out(n * n, n * n);
  double const h = 1 / double(n + 1);
  for (sla::index_t y = 0; y < n; ++y)
    for (sla::index_t x = 0; x < n; ++x) {
      double const X = double(x + 1) * h, Y = double(y + 1) * h, u = 4 * X * (X - 1) * (1 - 2 * Y) * h, v = -4 * Y * (Y - 1) * (1 - 2 * X) * h;
      double const west = epsilon + (std::max)(u, 0.0), east = epsilon + (std::max)(-u, 0.0), south = epsilon + (std::max)(v, 0.0), north = epsilon + (std::max)(-v, 0.0);
      sla::index_t const i = y * n + x;
      out.add(i, i, west + east + south + north);
      if (x > 0) out.add(i, i - 1, -west);
      if (x + 1 < n) out.add(i, i + 1, -east);
      if (y > 0) out.add(i, i - n, -south);
      if (y + 1 < n) out.add(i, i + n, -north);
    }
  return out.build();
}

/// Five points, a coefficient 10^u per square of some points, u at random in [0, decades].
inline sla::sparse_tensor<double> cells(sla::index_t n, sla::index_t square, double decades) {
  using sla::index_t;
  sla::triplets<double> out(n * n, n * n);
  auto const at = [&](index_t x, index_t y) { return std::pow(10, decades / 2 * (1 + sla::detail::uniform_at(3, std::uint64_t(y / square * n + x / square)))); };
  for (index_t y = 0; y < n; ++y)
    for (index_t x = 0; x < n; ++x) {
      double diagonal = 0;
      for (auto const& [u, v] : {std::pair(1, 0), std::pair(-1, 0), std::pair(0, 1), std::pair(0, -1)}) {
        bool const inside = x + u >= 0 && x + u < n && y + v >= 0 && y + v < n;
        double const here = at(x, y), there = inside ? at(x + u, y + v) : here, a = inside ? 2 * here * there / (here + there) : 2 * here;
        diagonal += a;
        if (inside) out.add(y * n + x, (y + v) * n + x + u, -a);
      }
      out.add(y * n + x, y * n + x, diagonal);
    }
  return out.build();
}

/// A symmetric operator of all 9 or 27 points, with couplings that differ, or those of the axes alone.
inline sla::sparse_tensor<double> grid_operator(sla::index_t nx, sla::index_t ny, sla::index_t nz, bool full, double spread) {
  using sla::index_t;
  index_t const n = nx * ny * nz;
  std::vector<index_t> rows, cols;
  std::vector<double> values, sums(std::size_t(n), 0.0);
  auto const noise = sla::random<double>(27 * n, 7);
  auto const add = [&](index_t i, index_t j, double v) { rows.push_back(i), cols.push_back(j), values.push_back(v); };
  for (index_t z = 0; z < nz; ++z)
    for (index_t y = 0; y < ny; ++y)
      for (index_t x = 0; x < nx; ++x)
        for (index_t c = -1; c <= 1; ++c)
          for (index_t b = -1; b <= 1; ++b)
            for (index_t a = -1; a <= 1; ++a) {
              index_t const i = (z * ny + y) * nx + x, j = i + (c * ny + b) * nx + a;
              if (x + a < 0 || x + a >= nx || y + b < 0 || y + b >= ny || z + c < 0 || z + c >= nz || j <= i || (!full && std::abs(a) + std::abs(b) + std::abs(c) != 1)) continue;
              double const v = -1 - spread * std::abs(noise[27 * i + (c + 1) * 9 + (b + 1) * 3 + a + 1]);
              add(i, j, v), add(j, i, v);
              sums[std::size_t(i)] -= v, sums[std::size_t(j)] -= v;
            }
  for (index_t i = 0; i < n; ++i) add(i, i, sums[std::size_t(i)] + (i % 3 == 0 ? 0.1 : 0.0));
  return sla::from_triplets<double>(n, n, rows, cols, values);
}

} // namespace suite
