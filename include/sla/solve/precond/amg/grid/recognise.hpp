// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is an assembled matrix the operator of a grid? One pass over its rows tells, checks that it is symmetric, and keeps half diagonals.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <sla/solve/precond/amg/grid/stencil.hpp>
#include <sla/tensor/build/counting.hpp>

namespace sla::detail {

/// The grid whose points come after a point at these places, ascending: 2 or 4 of a plane, 3 or 13 of space.
template <class = void>
std::optional<grid_shape> grid_of_places(index_t n, std::vector<index_t> const& places) {
  std::size_t const count = places.size();
  if (n < 64 || places.empty() || places[0] != 1 || (count != 2 && count != 3 && count != 4 && count != 13)) return {};
  bool const full = count > 3, space = count == 3 || count == 13;
  index_t const nx = places[full ? 2 : 1], slab = space ? places[full ? 8 : 2] : nx;
  if (nx < 4 || n % slab != 0 || slab % nx != 0 || n / slab < 4 || (space && slab / nx < 4)) return {};
  grid_shape const s(nx, slab / nx, n / slab, full);
  for (int h = 0; h < s.pairs; ++h)
    if (s.shift(h) != places[std::size_t(h)]) return {};
  return s;
}

/// Rows to look at, spread over all: no pitch of a grid keeps them at a border.
template <class F>
void for_sampled_rows(index_t n, F const& f) {
  for (int k = 1; k < 24; ++k) f(index_t(double(n) * std::fmod(0.6180339887 * k, 1.0)));
}
/// Where the entries behind the diagonal are, of a row with most of them among a few.
template <class Rows>
std::vector<index_t> places_after(Rows const& rows) {
  std::vector<index_t> places, here;
  if (rows.rows == rows.cols && rows.rows > 0)
    for_sampled_rows(rows.rows, [&](index_t i) {
      here.clear();
      rows.for_row(i, [&](index_t, index_t j) {
        if (j > i) here.push_back(j - i);
      });
      if (here.size() > places.size() && here.size() <= 13) places = here;
    });
  std::sort(places.begin(), places.end());
  return places;
}

/// So many points are worth a grid: those of fewer are solved as fast by aggregates.
inline constexpr index_t least_grid_points = 6000;

/// What a few rows say of a matrix: none of a grid, one of couplings alike, or one whose points are coupled most along the same axis everywhere.
enum class grid_guess { none, even, stretched };
/// What couplings along the axes of a grid say, of a few rows: for_row(i, f) calls f(j - i, a_ij) for the entries of row i of these.
struct grid_couplings {
  std::array<bool, 3> strongest{};  ///< which axis is the strongest in some row
  bool apart = true;                ///< in every row the strongest is so by far

  template <class ForRow>
  void look_at(grid_shape const& shape, index_t rows, ForRow const& for_row);
  grid_guess guess() const { return apart && strongest[0] + strongest[1] + strongest[2] == 1 ? grid_guess::stretched : grid_guess::even; }
};
template <class ForRow>
void grid_couplings::look_at(grid_shape const& shape, index_t rows, ForRow const& for_row) {
  for_sampled_rows(rows, [&](index_t i) {
    std::array<double, 3> along{};
    for_row(i, [&](index_t far, double a) {
      for (int h = 0; h < shape.pairs; ++h) {
        auto const& o = shape.offset[std::size_t(h)];
        if (far == shape.shift(h) && std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1) along[std::size_t(o[0] != 0 ? 0 : o[1] != 0 ? 1 : 2)] = std::abs(a);
      }
    });
    if (shape.is_plane()) along[1] = along[0];
    auto const most = std::max_element(along.begin(), along.end());
    double const least = *std::min_element(along.begin(), along.end());
    if (least == 0) return;  // at a border
    strongest[std::size_t(most - along.begin())] = true;
    apart = apart && *most > 8 * least;
  });
}
template <class Rows, class T>
grid_guess guess_grid(Rows const& rows, T const* values) {
  auto const shape = grid_of_places(rows.rows, places_after(rows));
  if (!shape) return grid_guess::none;
  grid_couplings seen;
  seen.look_at(*shape, rows.rows, [&](index_t i, auto const& f) { rows.for_row(i, [&](index_t s, index_t j) { f(j - i, double(values[s])); }); });
  return seen.guess();
}

/// What a range of rows tells. A row is rough where its couplings along the axes differ by more than eight times, or have the sign of the diagonal.
struct grid_evidence {
  bool holds = true;
  index_t rough = 0, after = 0;  ///< after: entries behind the diagonal less those before it
  double least = INFINITY, most = 0, steepest = 1;  ///< steepest: the largest ratio of couplings along the axes of a row

  /// A row with these magnitudes along the axes, and with a coupling of the diagonal's sign or not.
  void look_at(double smallest, double largest, bool positive) {
    rough += positive | (largest > 8 * smallest);
    if (largest > steepest * smallest) steepest = largest / smallest;
  }

  void merge(grid_evidence const& o) {
    holds = holds && o.holds;
    rough += o.rough, after += o.after;
    least = (std::min)(least, o.least), most = (std::max)(most, o.most), steepest = (std::max)(steepest, o.steepest);
  }
};

/// How far couplings of one row differ: the part of the rows that are rough, and the largest ratio.
struct grid_roughness {
  double part = 0, steepest = 1;
  bool exceeds(grid_roughness const& o) const { return part > o.part || steepest > o.steepest; }
};
/// A / scale, a power of 2, which brings it to a size that float holds.
template <class R>
struct found_grid {
  grid_level<R> level;
  grid_roughness rough;
  double scale;
};
/// The power of 2 next to the largest diagonal entry of a few rows.
template <class Rows, class T>
double grid_scale(Rows const& rows, T const* values) {
  double largest = 0;
  for_sampled_rows(rows.rows, [&](index_t i) {
    rows.for_row(i, [&](index_t s, index_t j) {
      if (i == j) largest = (std::max)(largest, double(values[s]));
    });
  });
  return largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, std::clamp(std::ilogb(largest), -1000, 1000)) : 1;
}

/// What recognition writes: half diagonals, omega / a_ii, and sums of rows.
template <class R>
struct grid_target {
  grid_shape const& shape;
  double omega, factor, near, rounding;  ///< of the matrix; near: the relative difference of two partners; rounding: that of a sum from 0
  R *off[13], *inverse, *sums;

  template <class T>
  grid_target(grid_level<R>& level, double by, T)
      : shape(level.shape), omega(double(level.omega)), factor(by), near(8 * double((std::max)(std::numeric_limits<R>::epsilon(), R(8) * R(std::numeric_limits<T>::epsilon())))),
        rounding(4 * double(std::numeric_limits<T>::epsilon())), inverse(level.inverse()), sums(level.sums()) {
    for (int h = 0; h < shape.pairs; ++h) off[h] = level.off(h);
  }
  bool are_partners(double a, double b) const { return std::abs(a - b) <= near * std::abs(a); }
  void finish(index_t i, double diagonal, double sum, double sizes) const { inverse[i] = R(omega / diagonal), sums[i] = std::abs(sum) > rounding * sizes ? R(sum) : R(0); }
};

/// Rows [i, last) of the inside of a line, if each has all of its neighbours, in ascending order; false, and nothing that lasts, if not. Partners of
/// entries before the diagonal are there.
template <int Pairs, class R, class Ptr, class Col, class T>
bool take_run(grid_target<R> const& to, index_t i, index_t last, Ptr const* row_ptr, Col const* col, T const* values, grid_evidence& all) {
  constexpr int width = 2 * Pairs + 1;
  index_t const first = row_ptr[i], begin = i;
  if (row_ptr[last] - first != width * (last - i)) return false;
  index_t shift[Pairs];
  bool axis[Pairs];
  R* off[Pairs];
  for (int h = 0; h < Pairs; ++h) {
    auto const& o = to.shape.offset[std::size_t(h)];
    shift[h] = to.shape.shift(h), off[h] = to.off[h], axis[h] = Pairs < 4 || std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1;
  }
  bool placed = true, holds = true;
  index_t counted = 0;
  grid_evidence e;
  for (; i < last; ++i) {
    index_t const at = first + width * (i - begin);
    Col const* const j = col + at;
    T const* const v = values + at;
    double const diagonal = to.factor * double(v[Pairs]);
    double sum = 0, sizes = 0, least = INFINITY, largest = 0, most = 0;
    placed = placed & (row_ptr[i] == at) & (j[Pairs] == i);
    for (int q = 0; q < width; ++q) sum += to.factor * double(v[q]), sizes += std::abs(to.factor * double(v[q]));
    for (int h = 0; h < Pairs; ++h) {
      double const after = to.factor * double(v[Pairs + 1 + h]), before = to.factor * double(v[Pairs - 1 - h]);
      placed = placed & (j[Pairs + 1 + h] == i + shift[h]) & (j[Pairs - 1 - h] == i - shift[h]);
      off[h][i] = R(after);
      holds = holds & to.are_partners(before, double(off[h][i - shift[h]]));
      counted += index_t(after != 0) - index_t(before != 0);
      most = (std::max)(most, (std::max)(after, before));
      if (!axis[h]) continue;
      double const a = std::abs(after), b = std::abs(before);
      largest = (std::max)(largest, (std::max)(a, b));
      least = (std::min)(least, (std::min)(a > 0 ? a : INFINITY, b > 0 ? b : INFINITY));
    }
    holds = holds & (diagonal > 0);
    e.least = (std::min)(e.least, diagonal), e.most = (std::max)(e.most, diagonal);
    e.look_at(least, largest, most > 0);
    to.finish(i, diagonal, sum, sizes);
  }
  if (!placed) return false;
  e.holds = holds, e.after = counted;
  all.merge(e);
  return true;
}

/// Half diagonals, if item values of `rows` are a symmetric operator on a grid with a positive diagonal. Rows: for_row(i, f(slot, j)).
/// Cost: one pass over the matrix. R = float holds diagonals whose sizes differ by up to 1e6.
template <class R, class Rows, class T>
std::optional<found_grid<R>> recognise_grid(Rows const& rows, T const* values) {
  constexpr int most = 27;
  index_t const n = rows.rows;
  auto const places = places_after(rows);
  auto const shape = grid_of_places(n, places);
  if (!shape) return {};
  grid_level<R> level(*shape, R(shape->is_plane() ? 0.8 : 0.85));
  double const scale = grid_scale(rows, values);
  grid_target<R> const to(level, 1 / scale, T());
  grid_shape const& s = to.shape;
  int const pairs = s.pairs;
  auto const part = [&](index_t lo, index_t hi) {
    grid_evidence e;
    index_t x = lo % s.nx, y = lo / s.nx % s.ny, j[most];
    double v[most];
    for (index_t i = lo; i < hi && e.holds; ++i) {
      if constexpr (requires { rows.row_ptr[i], rows.col[i]; })
        if (x == 1 && hi - i > s.nx && i - places.back() >= lo && (s.is_plane() || (y > 0 && y + 1 < s.ny))) {
          index_t const last = i + s.nx - 2;
          auto const take = [&]<int Pairs>(std::integral_constant<int, Pairs>) { return take_run<Pairs>(to, i, last, rows.row_ptr, rows.col, values, e); };
          bool const taken = pairs == 2 ? take(std::integral_constant<int, 2>()) : pairs == 3 ? take(std::integral_constant<int, 3>()) : pairs == 4 ? take(std::integral_constant<int, 4>()) : take(std::integral_constant<int, 13>());
          if (taken) {
            i = last, x = s.nx - 1;
            if (!e.holds) break;
          }
        }
      int count = 0;
      rows.for_row(i, [&](index_t slot, index_t column) {
        if (count < most) j[count] = column, v[count] = to.factor * double(values[slot]);
        ++count;
      });
      if (count > most) return grid_evidence{false};
      double diagonal = 0, sum = 0, sizes = 0, least = INFINITY, largest = 0;
      bool rough = false;
      for (int h = 0; h < pairs; ++h) to.off[h][i] = 0;
      auto const place = [&](int h, bool after, index_t other, double a) {  // of the h-th direction
        auto const& o = s.offset[std::size_t(h)];
        if (std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1) least = (std::min)(least, std::abs(a)), largest = (std::max)(largest, std::abs(a));
        rough = rough || a > 0;
        if (after) {
          to.off[h][i] = R(a);
          ++e.after;
        } else {
          double stored = 0;
          if (other >= lo)
            stored = double(to.off[h][other]);
          else
            rows.for_row(other, [&](index_t slot, index_t column) {
              if (column == i) stored = double(R(to.factor * double(values[slot])));
            });
          e.holds = e.holds && to.are_partners(a, stored);
          --e.after;
        }
      };
      for (int q = 0; q < count; ++q) {
        sum += v[q], sizes += std::abs(v[q]);
        if (j[q] == i) {
          diagonal = v[q];
        } else if (v[q] != 0) {
          index_t const far = std::abs(j[q] - i), sign = j[q] > i ? 1 : -1;
          int const h = int(std::find(places.begin(), places.end(), far) - places.begin());
          if (h == pairs) return grid_evidence{false};
          auto const& o = s.offset[std::size_t(h)];
          index_t const to_x = x + sign * o[0], to_y = y + sign * o[1];
          if (to_x < 0 || to_x >= s.nx || to_y < 0 || to_y >= s.ny) return grid_evidence{false};  // it goes round a border
          place(h, sign > 0, j[q], v[q]);
        }
      }
      e.holds = e.holds && diagonal > 0;
      e.least = (std::min)(e.least, diagonal), e.most = (std::max)(e.most, diagonal);
      e.look_at(least, largest, rough);
      to.finish(i, diagonal, sum, sizes);
      if (++x == s.nx) {
        x = 0;
        if (++y == s.ny) y = 0;
      }
    }
    return e;
  };
  auto const e = merged_ranges<grid_evidence>(n, part);
  bool const holdable = std::is_same_v<R, double> || (e.least > 1e-18 && e.most < 1e18 && e.most <= 1e6 * e.least);
  if (!e.holds || e.after != 0 || !holdable) return {};
  return found_grid<R>{std::move(level), {double(e.rough) / double(n), e.steepest}, scale};
}

} // namespace sla::detail
