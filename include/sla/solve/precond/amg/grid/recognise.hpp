// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is an assembled matrix the operator of a grid? One pass over its rows tells, checks that it is symmetric, and keeps half diagonals.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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

/// What a few rows say of a matrix: none of a grid, one of couplings alike, or one whose points are coupled most along the same axis everywhere.
enum class grid_guess { none, even, stretched };
template <class Rows, class T>
grid_guess guess_grid(Rows const& rows, T const* values) {
  auto const shape = grid_of_places(rows.rows, places_after(rows));
  if (!shape) return grid_guess::none;
  std::array<bool, 3> strongest{};
  bool apart = true;
  for_sampled_rows(rows.rows, [&](index_t i) {
    std::array<double, 3> along{};
    rows.for_row(i, [&](index_t s, index_t j) {
      for (int h = 0; h < shape->pairs; ++h) {
        auto const& o = shape->offset[std::size_t(h)];
        if (j == i + shape->shift(h) && std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1) along[std::size_t(o[0] != 0 ? 0 : o[1] != 0 ? 1 : 2)] = std::abs(double(values[s]));
      }
    });
    if (shape->is_plane()) along[1] = along[0];
    auto const most = std::max_element(along.begin(), along.end());
    double const least = *std::min_element(along.begin(), along.end());
    if (least == 0) return;  // at a border
    strongest[std::size_t(most - along.begin())] = true;
    apart = apart && *most > 8 * least;
  });
  return apart && strongest[0] + strongest[1] + strongest[2] == 1 ? grid_guess::stretched : grid_guess::even;
}

/// What a range of rows tells. A row is rough where its couplings along the axes differ by more than eight times, or have the sign of the diagonal.
struct grid_evidence {
  bool holds = true;
  index_t rough = 0, after = 0, before = 0;
  double least = INFINITY, most = 0;

  void merge(grid_evidence const& o) {
    holds = holds && o.holds;
    rough += o.rough, after += o.after, before += o.before;
    least = (std::min)(least, o.least), most = (std::max)(most, o.most);
  }
};

template <class R>
struct found_grid {
  grid_level<R> level;
  double rough;  ///< the part of the rows that are
};

/// Half diagonals, if item values of `rows` are a symmetric operator on a grid with a positive diagonal. Rows: for_row(i, f(slot, j)).
/// Cost: one pass over the matrix. R = float holds diagonals whose sizes differ by up to 1e6.
template <class R, class Rows, class T>
std::optional<found_grid<R>> recognise_grid(Rows const& rows, T const* values) {
  constexpr int most = 27;
  index_t const n = rows.rows;
  auto const places = places_after(rows);
  auto const shape = grid_of_places(n, places);
  if (!shape) return {};
  grid_shape const s = *shape;
  grid_level<R> level(s, R(s.is_plane() ? 0.8 : 0.85));
  R* off[13];
  for (int h = 0; h < s.pairs; ++h) off[h] = level.off[std::size_t(h)].data();
  auto const near = [](double a, double b) { return std::abs(a - b) <= 8 * double((std::max)(std::numeric_limits<R>::epsilon(), R(8) * R(std::numeric_limits<T>::epsilon()))) * std::abs(a); };
  auto const pairs = s.pairs;
  double const rounding = 4 * double(std::numeric_limits<T>::epsilon());
  auto const part = [&, inverse = level.inverse.data(), sums = level.sums.data()](index_t lo, index_t hi) {
    grid_evidence e;
    index_t x = lo % s.nx, y = lo / s.nx % s.ny, j[most];
    double v[most];
    for (index_t i = lo; i < hi && e.holds; ++i) {
      int count = 0;
      rows.for_row(i, [&](index_t slot, index_t column) {
        if (count < most) j[count] = column, v[count] = double(values[slot]);
        ++count;
      });
      if (count > most) return grid_evidence{false};
      double diagonal = 0, sum = 0, sizes = 0, least = INFINITY, largest = 0;
      bool rough = false;
      for (int h = 0; h < pairs; ++h) off[h][i] = 0;
      auto const place = [&](int h, bool after, index_t other, double a) {  // of the h-th direction
        auto const& o = s.offset[std::size_t(h)];
        if (std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1) least = (std::min)(least, std::abs(a)), largest = (std::max)(largest, std::abs(a));
        rough = rough || a > 0;
        if (after) {
          off[h][i] = R(a);
          ++e.after;
        } else {
          double stored = 0;
          if (other >= lo)
            stored = double(off[h][other]);
          else
            rows.for_row(other, [&](index_t slot, index_t column) {
              if (column == i) stored = double(R(values[slot]));
            });
          e.holds = e.holds && near(a, stored);
          ++e.before;
        }
      };
      bool inner = count == 2 * pairs + 1 && j[pairs] == i && x > 0 && x + 1 < s.nx && (s.is_plane() || (y > 0 && y + 1 < s.ny));
      for (int h = 0; inner && h < pairs; ++h) inner = j[pairs + 1 + h] == i + places[std::size_t(h)] && j[pairs - 1 - h] == i - places[std::size_t(h)];
      for (int q = 0; q < count; ++q) sum += v[q], sizes += std::abs(v[q]);
      if (inner) {
        diagonal = v[pairs];
        for (int h = 0; h < pairs; ++h) {
          if (v[pairs + 1 + h] != 0) place(h, true, i + places[std::size_t(h)], v[pairs + 1 + h]);
          if (v[pairs - 1 - h] != 0) place(h, false, i - places[std::size_t(h)], v[pairs - 1 - h]);
        }
      } else {
        for (int q = 0; q < count; ++q) {
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
      }
      e.holds = e.holds && diagonal > 0;
      e.least = (std::min)(e.least, diagonal), e.most = (std::max)(e.most, diagonal);
      e.rough += rough || largest > 8 * least;
      inverse[i] = R(double(level.omega) / diagonal), sums[i] = std::abs(sum) > rounding * sizes ? R(sum) : R(0);
      if (++x == s.nx) {
        x = 0;
        if (++y == s.ny) y = 0;
      }
    }
    return e;
  };
  auto const e = merged_ranges<grid_evidence>(n, part);
  bool const holdable = std::is_same_v<R, double> || (e.least > 1e-18 && e.most < 1e18 && e.most <= 1e6 * e.least);
  if (!e.holds || e.after != e.before || !holdable) return {};
  return found_grid<R>{std::move(level), double(e.rough) / double(n)};
}

} // namespace sla::detail
