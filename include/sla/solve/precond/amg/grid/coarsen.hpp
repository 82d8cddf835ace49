// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a grid to the one of every second point: the interpolation that the operator itself suggests (Alcouffe, Brandt, Dendy and Painter 1981;
// Dendy, Black box multigrid, Journal of Computational Physics 1982), and the Galerkin product P^T A P, a full stencil of 9 or 27 points.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include <sla/solve/precond/amg/grid/slabs.hpp>

namespace sla::detail {

/// f(first, last) over `count` slabs or lines of so many points, on several threads where they are many.
template <class F>
void parallel_lines(index_t count, index_t points, F const& f) {
  parallel_ranges(count, f, (std::max)(index_t(2), serial_below / (std::max)(points, index_t(1))));
}

/// [p] is a(p, p + v) of a direction v; null, if the stencil has none there.
template <class R>
R const* couplings_towards(grid_view<R> const& A, std::array<int, 3> const& v) {
  for (int h = 0; h < A.shape.pairs; ++h) {
    auto const& o = A.shape.offset[std::size_t(h)];
    if (o == v) return A.off[h];
    if (o == std::array{-v[0], -v[1], -v[2]}) return A.off[h] - A.shape.shift(h);
  }
  return nullptr;
}
/// f(direction) for all neighbours' directions.
template <class F>
void for_directions(grid_shape const& s, F const& f) {
  int const wide = s.is_plane() ? 0 : 1;
  for (int z = -1; z <= 1; ++z)
    for (int y = -wide; y <= wide; ++y)
      for (int x = -1; x <= 1; ++x) f(std::array{x, y, z});
}
/// f(k) for all k whose bits are a part of those of t, t first.
template <class F>
void for_parts(int t, F const& f) {
  for (int k = t;; k = (k - 1) & t) {
    f(k);
    if (k == 0) return;
  }
}

/// f(coarse line, first, count) for the points of coarse lines [lo, hi), some at a time: what is summed for them stays in a cache.
inline constexpr index_t coarse_points_at_once = 128;
template <class F>
void for_stretches(index_t lo, index_t hi, index_t count, F const& f) {
  for (index_t line = lo; line < hi; ++line)
    for (index_t first = 0; first < count; first += coarse_points_at_once) f(line, first, (std::min)(coarse_points_at_once, count - first));
}

/// Points of one odd axis get the mean of their two coarse neighbours, weighted by the couplings of their row, which is summed up along the
/// other axes; those of several, the same of the points found so far. The denominator is the row sum less these couplings.
template <class R>
void make_interpolation(grid_level<R>& level) {
  grid_shape const s = level.shape, c = s.coarse();
  level.make_room_for_weights();
  auto const A = level.view();
  struct share {
    R const* weight;  ///< null: the neighbour is a coarse point
    int corner;
  };
  struct direction {
    R const* a;
    std::vector<share> shares;
  };
  for (int odd = 1; odd <= 3; ++odd)
    for (int t = 1; t < 8; ++t) {
      if (std::popcount(unsigned(t)) != odd || (s.is_plane() && (t & 2))) continue;
      std::vector<direction> away;
      std::size_t terms = 0;
      R* mine[8] = {};
      for_parts(t, [&](int part) { mine[part] = level.weight(t, part); });
      for_directions(s, [&](std::array<int, 3> const& v) {
        R const* const a = couplings_towards(A, v);
        int rest = t, corner = 0;
        index_t cell = 0;
        index_t const step[] = {1, c.nx, c.slab()};
        for (int axis = 0; axis < 3; ++axis)
          if ((t >> axis & 1) && v[std::size_t(axis)] != 0) {
            rest &= ~(1 << axis);
            if (v[std::size_t(axis)] > 0) corner |= 1 << axis, cell += step[axis];
          }
        if (!a || rest == t) return;
        away.push_back({a, {}});
        for_parts(rest, [&](int k) { away.back().shares.push_back({rest == 0 ? nullptr : A.weight[rest][k] + cell, corner | k}); });
        terms += away.back().shares.size() + 1;
      });
      parallel_lines(c.nz * c.ny, c.nx * index_t(terms), [&](index_t lo, index_t hi) {
        constexpr index_t room = coarse_points_at_once;
        double of_corner[8][room], whole[room], coupling[room];
        for_stretches(lo, hi, c.nx, [&](index_t line, index_t first, index_t there) {
          index_t const k = 2 * (line / c.ny) + (t >> 2 & 1), j = 2 * (line % c.ny) + (t >> 1 & 1), points = k < s.nz && j < s.ny ? (s.nx - (t & 1) + 1) / 2 : 0;
          index_t const count = std::clamp(points - first, index_t(0), there), p = k * s.slab() + j * s.nx + (t & 1) + 2 * first, C = line * c.nx + first;
          for_parts(t, [&](int part) {
            std::fill(of_corner[part], of_corner[part] + count, 0.0);
            R* const out = mine[part] + C;
            std::fill(out + count, out + there, R(0));  // no such points
          });
          if (count == 0) return;
          SLA_INDEPENDENT
          for (index_t i = 0; i < count; ++i) whole[i] = double(A.sums[p + 2 * i]);
          for (direction const& v : away) {
            R const* const a = v.a + p;
            SLA_INDEPENDENT
            for (index_t i = 0; i < count; ++i) coupling[i] = double(a[2 * i]), whole[i] -= coupling[i];
            for (share const& e : v.shares) {
              double* const to = of_corner[e.corner];
              if (!e.weight) {
                for (index_t i = 0; i < count; ++i) to[i] += coupling[i];
                continue;
              }
              R const* const weight = e.weight + C;
              SLA_INDEPENDENT
              for (index_t i = 0; i < count; ++i) to[i] += coupling[i] * double(weight[i]);
            }
          }
          for (index_t i = 0; i < count; ++i) whole[i] = whole[i] > 0 ? -1 / whole[i] : 0;
          for_parts(t, [&](int part) {
            R* const out = mine[part] + C;
            for (index_t i = 0; i < count; ++i) out[i] = R(of_corner[part][i] * whole[i]);
          });
        });
      });
    }
}

/// The off-diagonals of P^T A P: of each coarse point first the row of P^T A, number by number of the points around, then its share of each coarse
/// neighbour; loops along lines, in double.
template <class R>
void galerkin_couplings(grid_view<R> const& A, double const* diagonal, grid_level<R>& next) {
  grid_shape const &s = A.shape, c = A.coarse;
  struct from {
    R const *weight, *a;  ///< weight: null for the coarse point itself; a: null for the diagonal
    index_t at;           ///< of the first point, from that of the coarse one
  };
  struct share {
    R const* weight;  ///< null: all of it
    int target;
  };
  struct point {
    std::vector<from> sum;
    std::vector<share> shares;
  };
  auto const weight = [&](std::array<int, 3> const& e, int corner) -> R const* {
    int t = 0;
    index_t cell = 0;
    index_t const step[] = {1, c.nx, c.slab()};
    for (std::size_t axis = 0; axis < 3; ++axis) t |= (e[axis] & 1) << axis, cell += step[axis] * (e[axis] >> 1);
    return t ? A.weight[t][corner] + cell : nullptr;
  };
  std::vector<point> points;
  std::size_t terms = 0;
  int const wide = s.is_plane() ? 0 : 2;
  for (int z = -2; z <= 2; ++z)
    for (int y = -wide; y <= wide; ++y)
      for (int x = -2; x <= 2; ++x) {
        std::array const e{x, y, z};
        point here;
        for_parts((x & 1) | (y & 1) << 1 | (z & 1) << 2, [&](int k) {
          std::array const to{(x >> 1) + (k & 1), (y >> 1) + (k >> 1 & 1), (z >> 1) + (k >> 2 & 1)};
          for (int h = 0; h < c.pairs; ++h)
            if (c.offset[std::size_t(h)] == to) here.shares.push_back({weight(e, k), h});
        });
        if (here.shares.empty()) continue;
        for_directions(s, [&](std::array<int, 3> const& d) {
          std::array const v{x - d[0], y - d[1], z - d[2]};
          bool const own = v == std::array{0, 0, 0}, near = std::abs(v[0]) <= 1 && std::abs(v[1]) <= 1 && std::abs(v[2]) <= 1;
          R const* const a = near && !own ? couplings_towards(A, v) : nullptr;
          if (own || a) here.sum.push_back({weight(d, (d[0] < 0 ? 1 : 0) | (d[1] < 0 ? 2 : 0) | (d[2] < 0 ? 4 : 0)), a, d[0] + d[1] * s.nx + d[2] * s.slab()});
        });
        if (here.sum.empty()) continue;
        terms += here.sum.size() + here.shares.size();
        points.push_back(std::move(here));
      }
  parallel_lines(c.nz * c.ny, c.nx * index_t(terms), [&](index_t lo, index_t hi) {
    constexpr index_t room = coarse_points_at_once;
    double row[room], sum[13][room];
    for_stretches(lo, hi, c.nx, [&](index_t line, index_t begin, index_t count) {
      index_t const first = line / c.ny * 2 * s.slab() + line % c.ny * 2 * s.nx + 2 * begin, C = line * c.nx + begin;
      for (int h = 0; h < c.pairs; ++h) std::fill(sum[h], sum[h] + count, 0.0);
      for (point const& e : points) {
        std::fill(row, row + count, 0.0);
        for (from const& q : e.sum) {
          auto const add = [&](auto const* a) {
            R const* const w = q.weight ? q.weight + C : nullptr;
            if (!w) {
              SLA_INDEPENDENT
              for (index_t i = 0; i < count; ++i) row[i] += double(a[2 * i]);
            } else {
              SLA_INDEPENDENT
              for (index_t i = 0; i < count; ++i) row[i] += double(w[i]) * double(a[2 * i]);
            }
          };
          if (q.a)
            add(q.a + first + q.at);
          else
            add(diagonal + first + q.at);
        }
        for (share const& q : e.shares) {
          double* const to = sum[q.target];
          R const* const w = q.weight ? q.weight + C : nullptr;
          if (!w) {
            for (index_t i = 0; i < count; ++i) to[i] += row[i];
          } else {
            SLA_INDEPENDENT
            for (index_t i = 0; i < count; ++i) to[i] += row[i] * double(w[i]);
          }
        }
      }
      for (int h = 0; h < c.pairs; ++h)
        for (index_t i = 0; i < count; ++i) next.off(h)[C + i] = R(sum[h][i]);
    });
  });
}

/// f(first, last) with the diagonal of points [first, last) in double: row sums less off-diagonals.
template <class R>
void diagonal_of(grid_view<R> const& A, index_t lo, index_t hi, double* d) {
  for (index_t i = lo; i < hi; ++i) d[i] = double(A.sums[i]);
  for (int h = 0; h < A.shape.pairs; ++h) {
    R const *const after = A.off[h], *const before = A.off[h] - A.shape.shift(h);
    for (index_t i = lo; i < hi; ++i) d[i] -= double(after[i]) + double(before[i]);
  }
}

/// omega / a_ii of the points [lo, hi). Returns a bound of the eigenvalues of D^-1 A there, the largest sum of the sizes of a row over its
/// diagonal entry; infinity, if a diagonal entry is not positive.
template <class R>
double invert_diagonal(grid_level<R>& level, index_t lo, index_t hi) {
  std::atomic<double> bound{0};
  parallel_lines(hi - lo, 16, [&, A = level.view(), inverse = level.inverse()](index_t first, index_t last) {
    index_t const from = lo + first, count = last - first;
    std::vector<double> d(static_cast<std::size_t>(count)), beside(d.size(), 0.0);
    diagonal_of(A, from, from + count, d.data() - from);
    for (int h = 0; h < A.shape.pairs; ++h) {
      R const *const after = A.off[h] + from, *const before = A.off[h] - A.shape.shift(h) + from;
      for (index_t i = 0; i < count; ++i) beside[std::size_t(i)] += double(std::abs(after[i])) + double(std::abs(before[i]));
    }
    double here = 0;
    for (index_t i = 0; i < count; ++i) {
      double const diagonal = d[std::size_t(i)];
      here = diagonal > 0 ? (std::max)(here, 1 + beside[std::size_t(i)] / diagonal) : std::numeric_limits<double>::infinity();
      inverse[from + i] = R(double(level.omega) / diagonal);
    }
    for (double before = bound; here > before && !bound.compare_exchange_weak(before, here);) {
    }
  });
  return bound;
}
/// Smaller steps of Jacobi, where those of the points [lo, hi) may not converge for eigenvalues of D^-1 A up to `bound`: where couplings
/// have both signs, M would not be definite.
template <class R>
void damp_steps(grid_level<R>& level, index_t lo, index_t hi, double bound) {
  double const largest = 1.95 / bound, factor = largest / double(level.omega);
  if (!(factor < 1)) return;
  level.omega = R(largest);
  parallel_lines(hi - lo, 1, [&, inverse = level.inverse()](index_t first, index_t last) {
    for (index_t i = lo + first; i < lo + last; ++i) inverse[i] = R(double(inverse[i]) * factor);
  });
}

/// Off-diagonals and row sums of the next level, once this one has its interpolation: P^T A P, and P^T A (P 1).
template <class R>
grid_level<R> galerkin_level(grid_level<R>& level) {
  grid_shape const s = level.shape, c = s.coarse();
  auto const A = level.view();
  grid_level<R> next(c, level.omega);
  {
    grid_array<double> diagonal(s, uninitialized);
    parallel_lines(s.points(), 4, [&, d = diagonal.data()](index_t lo, index_t hi) { diagonal_of(A, lo, hi, d); });
    galerkin_couplings(A, diagonal.data(), next);
  }
  bool const constants = std::all_of(A.sums, A.sums + s.points(), [](R sum) { return sum == 0; });  // are the null space: rounding would not keep them
  grid_array<R> one(c);
  if (constants) std::fill(next.sums(), next.sums() + c.points(), R(0));
  std::fill(one.data(), one.data() + c.points(), R(1));
  if (!constants) parallel_lines(c.nz, 8 * c.slab(), [&, sums = next.sums(), e = one.data()](index_t lo, index_t hi) {
    auto const fill = [&](index_t k, R* x) { interpolate_slab(A, k, e, [](index_t) { return R(0); }, x); };
    auto const product = [&](index_t k, R const* before, R const* x, R const* after, R* y) { slab_product<true>(A, k, before, x, after, y); };
    restricted_slabs(A, lo, hi, fill, product, sums);
  });
  return next;
}

/// The next level; nothing, if a diagonal entry is not positive.
template <class R>
std::optional<grid_level<R>> coarsened(grid_level<R>& level) {
  make_interpolation(level);
  auto next = galerkin_level(level);
  double const bound = invert_diagonal(next, 0, next.shape.points());
  if (!std::isfinite(bound)) return {};
  damp_steps(next, 0, next.shape.points(), bound);
  return next;
}

} // namespace sla::detail
