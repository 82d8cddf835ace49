// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric operators on a grid by half of their diagonals: 5 or 9 points of a plane, 7 or 27 of space. Off-diagonals and row sums are
// stored, (A x)_i = s_i x_i + sum_j a_ij (x_j - x_i): rounding these leaves the matrix as definite as it was, whatever its coefficients.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

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
  template <class = void>
  std::string text_of() const { return is_plane() ? text(nx, " x ", nz) : text(nx, " x ", ny, " x ", nz); }
};

/// Numbers per point, one or `count` of them, each kind behind the other in one run, with margins of zeros between them and around all.
template <class R>
class grid_array {
public:
  grid_array() = default;
  /// Not set but for the margins.
  grid_array(grid_shape const& s, uninitialized_t, index_t count = 1) : margin_(s.margin()), stride_(stride(s)), all_(count * stride_ + margin_, uninitialized) {
    for (index_t k = 0; k <= count; ++k) {
      auto const from = all_.begin() + (k > 0 ? (k - 1) * stride_ + margin_ + s.points() : 0);
      std::fill(from, k < count ? all_.begin() + k * stride_ + margin_ : all_.end(), R{});
    }
  }
  explicit grid_array(grid_shape const& s) : margin_(s.margin()), stride_(stride(s)), all_(stride_ + margin_) {}
  R* data(index_t k = 0) { return all_.data() + margin_ + k * stride_; }
  R const* data(index_t k = 0) const { return all_.data() + margin_ + k * stride_; }
  std::size_t bytes() const { return all_.bytes(); }
  /// With the margins.
  buffer<R> const& all() const { return all_; }

private:
  /// Long arrays begin at different places of their pages: those of one place fight for the same cache sets.
  static index_t stride(grid_shape const& s) {
    index_t const page = 4096 / index_t(sizeof(R)), apart = 832 / index_t(sizeof(R)), least = s.points() + s.margin();
    return least < 16 * page ? least : (least - apart + page - 1) / page * page + apart;
  }

  index_t margin_ = 0, stride_ = 0;
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

/// A level: its operator, the damped inverse of its diagonal and, but on the coarsest one, the weights of the interpolation. All numbers of an operator are
/// in one run of memory, and all weights: a thread keeps a few runs for those who ask next, such as new values.
template <class R>
struct grid_level {
  grid_shape shape;
  R omega;
  grid_array<R> numbers, weights{};

  grid_level(grid_shape const& s, R w) : shape(s), omega(w), numbers(s, uninitialized, s.pairs + 2) {}
  R* inverse() { return numbers.data(0); }
  R* sums() { return numbers.data(1); }
  R* off(int h) { return numbers.data(h + 2); }
  /// Of weight[t][c], where c is a part of t.
  R* weight(int t, int c) { return weights.data(weight_place(t, c)); }
  void make_room_for_weights() { weights = grid_array<R>(shape.coarse(), uninitialized, shape.is_plane() ? 8 : 26); }
  std::size_t bytes() const { return numbers.bytes() + weights.bytes(); }
  grid_view<R> view() const {
    grid_view<R> v{shape, shape.coarse(), omega, numbers.data(0), numbers.data(1), {}, {}};
    for (int h = 0; h < shape.pairs; ++h) v.off[h] = numbers.data(h + 2);
    for (int t = 1; t < 8 && weights.bytes() > 0; ++t)
      for (int c = t; !(shape.is_plane() && (t & 2)); c = (c - 1) & t) {
        v.weight[t][c] = weights.data(weight_place(t, c));
        if (c == 0) break;
      }
    return v;
  }

private:
  /// Kinds are counted type by type, in the order of c.
  index_t weight_place(int t, int c) const {
    index_t place = 0;
    for (int u = 1; u <= t; ++u)
      for (int k = 0; k <= u && !(shape.is_plane() && (u & 2)); ++k)
        if ((k & u) == k) {
          if (u == t && k == c) return place;
          ++place;
        }
    return place;
  }
};

} // namespace sla::detail
