// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric operators on a grid by half of their diagonals: 5 or 9 points of a plane, 7 or 27 of space. Off-diagonals and row sums are
// stored, (A x)_i = s_i x_i + sum_j a_ij (x_j - x_i): rounding these leaves the matrix as definite as it was, whatever its coefficients.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <sla/tensor/storage/memory.hpp>

namespace sla::detail {

/// nx * ny * nz points, x fastest; of a plane, ny is 1, and the second axis is z. A slab is the points of one z. `offset` are the
/// neighbours of a point that come after it: the first `inside` in its own slab, all others in the next one.
struct grid_shape {
  index_t nx = 0, ny = 1, nz = 0;
  int inside = 0, pairs = 0;
  std::array<std::array<int, 3>, 13> offset{};

  grid_shape() = default;
  /// `full`: all 9 or 27 points of the stencil.
  grid_shape(index_t x, index_t y, index_t z, bool full) : nx(x), ny(y), nz(z) {
    int const wide = y > 1;
    auto const add = [&](int dx, int dy, int dz) { offset[std::size_t(pairs++)] = {dx, dy, dz}; };
    for (int dy = 0; dy <= wide; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if ((dy > 0 || dx > 0) && (full || dx == 0 || dy == 0)) add(dx, dy, 0);
    inside = pairs;
    for (int dy = -wide; dy <= wide; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (full || (dx == 0 && dy == 0)) add(dx, dy, 1);
  }
  SLA_HD index_t slab() const { return nx * ny; }
  SLA_HD index_t points() const { return nx * ny * nz; }
  bool is_plane() const { return ny == 1; }
  int stencil() const { return 2 * pairs + 1; }
  /// How far the neighbour in this direction lies, in its slab, and in all.
  index_t within(int h) const { return offset[std::size_t(h)][0] + offset[std::size_t(h)][1] * nx; }
  index_t shift(int h) const { return within(h) + offset[std::size_t(h)][2] * slab(); }
  /// Numbers before and after the points of an array that may be read with them: zeros.
  index_t margin() const { return 2 * (slab() + nx + 2); }
  /// Every second point of each axis, with a full stencil.
  grid_shape coarse() const { return {(nx + 1) / 2, (ny + 1) / 2, (nz + 1) / 2, true}; }
  /// The entries of the matrix.
  index_t entries() const {
    index_t sum = points();
    for (int h = 0; h < pairs; ++h) {
      auto const& o = offset[std::size_t(h)];
      sum += 2 * (nx - std::abs(o[0])) * (ny - std::abs(o[1])) * (nz - std::abs(o[2]));
    }
    return sum;
  }
  /// "1000 x 1000".
  std::string text_of() const { return is_plane() ? text(nx, " x ", nz) : text(nx, " x ", ny, " x ", nz); }
};

/// A number per point, with margins of zeros.
template <class R>
class grid_array {
public:
  grid_array() = default;
  /// Not set but for the margins.
  grid_array(grid_shape const& s, uninitialized_t) : margin_(s.margin()), all_(s.points() + 2 * s.margin(), uninitialized) {
    std::fill(all_.begin(), all_.begin() + margin_, R{});
    std::fill(all_.end() - margin_, all_.end(), R{});
  }
  explicit grid_array(grid_shape const& s) : margin_(s.margin()), all_(s.points() + 2 * s.margin()) {}
  R* data() { return all_.data() + margin_; }
  R const* data() const { return all_.data() + margin_; }
  std::size_t bytes() const { return all_.bytes(); }

private:
  index_t margin_ = 0;
  buffer<R> all_;
};

/// A level as its passes see it. off[h][p] = a(p, p + shift(h)), zero where there is no such neighbour, so that no loop asks for borders.
/// weight[t][c]: of the point 2 C + t (a bit of t per axis on which it is odd) for the coarse point C + c, where c is a part of t.
template <class R>
struct grid_view {
  grid_shape shape, coarse;
  R omega;
  R const *inverse, *sums, *off[13], *weight[8][8];  ///< inverse: omega / a_ii
};

/// A level: its operator, the damped inverse of its diagonal and, but on the coarsest one, the weights of the interpolation.
template <class R>
struct grid_level {
  grid_shape shape;
  R omega;
  grid_array<R> inverse, sums;
  std::vector<grid_array<R>> off;
  std::array<std::array<grid_array<R>, 8>, 8> weight{};

  grid_level(grid_shape const& s, R w) : shape(s), omega(w), inverse(s, uninitialized), sums(s, uninitialized) {
    for (int h = 0; h < s.pairs; ++h) off.emplace_back(s, uninitialized);
  }
  std::size_t bytes() const {
    std::size_t sum = inverse.bytes() + sums.bytes();
    for (auto const& a : off) sum += a.bytes();
    for (auto const& of_type : weight)
      for (auto const& w : of_type) sum += w.bytes();
    return sum;
  }
  grid_view<R> view() const {
    grid_view<R> v{shape, shape.coarse(), omega, inverse.data(), sums.data(), {}, {}};
    for (std::size_t h = 0; h < off.size(); ++h) v.off[h] = off[h].data();
    for (std::size_t t = 1; t < 8; ++t)
      for (std::size_t c = 0; c < 8; ++c) v.weight[t][c] = weight[t][c].bytes() > 0 ? weight[t][c].data() : nullptr;
    return v;
  }
};

} // namespace sla::detail
