// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a grid to the one of every second point: the interpolation that the operator itself suggests (Alcouffe, Brandt, Dendy and Painter 1981;
// Dendy, Black box multigrid, Journal of Computational Physics 1982), and the Galerkin product P^T A P, a full stencil of 9 or 27 points.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
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

/// Points of one odd axis get the mean of their two coarse neighbours, weighted by the couplings of their row, which is summed up along the
/// other axes; those of several, the same of the points found so far. The denominator is the row sum less these couplings.
template <class R>
void make_interpolation(grid_level<R>& level) {
  grid_shape const s = level.shape, c = s.coarse();
  auto const A = level.view();
  struct term {
    R const *a, *weight;  ///< null: the neighbour is a coarse point
    int corner;
  };
  for (int odd = 1; odd <= 3; ++odd)
    for (int t = 1; t < 8; ++t) {
      if (std::popcount(unsigned(t)) != odd || (s.is_plane() && (t & 2))) continue;
      auto& mine = level.weight[std::size_t(t)];
      for_parts(t, [&](int k) { mine[std::size_t(k)] = grid_array<R>(c); });
      std::vector<term> terms;
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
        if (rest == 0)
          terms.push_back({a, nullptr, corner});
        else
          for_parts(rest, [&](int k) { terms.push_back({a, level.weight[std::size_t(rest)][std::size_t(k)].data() + cell, corner | k}); });
      });
      // Each direction is counted once in the row sum: its terms of the first corner are.
      std::vector<R const*> away;
      for (auto const& e : terms)
        if (std::find(away.begin(), away.end(), e.a) == away.end()) away.push_back(e.a);
      parallel_lines(c.nz * c.ny, c.nx * index_t(terms.size()), [&](index_t lo, index_t hi) {
        std::vector<double> of_corner(std::size_t(9 * c.nx));
        for (index_t line = lo; line < hi; ++line) {
          index_t const k = 2 * (line / c.ny) + (t >> 2 & 1), j = 2 * (line % c.ny) + (t >> 1 & 1), count = (s.nx - (t & 1) + 1) / 2;
          if (k >= s.nz || j >= s.ny) continue;
          index_t const p = k * s.slab() + j * s.nx + (t & 1), C = line * c.nx;
          std::fill(of_corner.begin(), of_corner.end(), 0.0);
          double* const whole = of_corner.data() + 8 * c.nx;
          for (index_t ic = 0; ic < count; ++ic) whole[ic] = double(A.sums[p + 2 * ic]);
          for (R const* a : away)
            for (index_t ic = 0; ic < count; ++ic) whole[ic] -= double(a[p + 2 * ic]);
          for (auto const& e : terms) {
            double* const to = of_corner.data() + e.corner * c.nx;
            if (e.weight)
              for (index_t ic = 0; ic < count; ++ic) to[ic] += double(e.a[p + 2 * ic]) * double(e.weight[C + ic]);
            else
              for (index_t ic = 0; ic < count; ++ic) to[ic] += double(e.a[p + 2 * ic]);
          }
          for_parts(t, [&](int part) {
            R* const out = mine[std::size_t(part)].data() + C;
            double const* const from = of_corner.data() + part * c.nx;
            for (index_t ic = 0; ic < count; ++ic) out[ic] = whole[ic] > 0 ? R(-from[ic] / whole[ic]) : R(0);
          });
        }
      });
    }
}

/// The off-diagonals of P^T A P: per coarse point a sum of weight * coupling * weight, each a loop along lines, in double.
template <class R>
void galerkin_couplings(grid_view<R> const& A, double const* diagonal, grid_level<R>& next) {
  grid_shape const &s = A.shape, c = A.coarse;
  struct term {
    R const *left, *a, *right;  ///< a: null for the diagonal
    index_t at;                 ///< of the first point, from that of the coarse one
    int target;
  };
  std::vector<term> terms;
  std::vector<R> const ones(std::size_t(c.nx), R(1));
  auto const weight = [&](std::array<int, 3> const& e, int corner) -> R const* {
    int t = 0;
    index_t cell = 0;
    index_t const step[] = {1, c.nx, c.slab()};
    for (std::size_t axis = 0; axis < 3; ++axis) t |= (e[axis] & 1) << axis, cell += step[axis] * (e[axis] >> 1);
    return t ? A.weight[t][corner] + cell : nullptr;
  };
  for_directions(s, [&](std::array<int, 3> const& d) {
    R const* const left = weight(d, (d[0] < 0 ? 1 : 0) | (d[1] < 0 ? 2 : 0) | (d[2] < 0 ? 4 : 0));
    for_directions(s, [&](std::array<int, 3> const& v) {
      bool const own = v == std::array{0, 0, 0};
      R const* const a = couplings_towards(A, v);
      if (!own && !a) return;
      std::array const e{d[0] + v[0], d[1] + v[1], d[2] + v[2]};
      for_parts((e[0] & 1) | (e[1] & 1) << 1 | (e[2] & 1) << 2, [&](int k) {
        std::array const to{(e[0] >> 1) + (k & 1), (e[1] >> 1) + (k >> 1 & 1), (e[2] >> 1) + (k >> 2 & 1)};
        for (int h = 0; h < c.pairs; ++h)
          if (c.offset[std::size_t(h)] == to) terms.push_back({left, a, weight(e, k), d[0] + d[1] * s.nx + d[2] * s.slab(), h});
      });
    });
  });
  parallel_lines(c.nz * c.ny, c.nx * index_t(terms.size()), [&](index_t lo, index_t hi) {
    std::vector<double> sum(std::size_t(c.pairs * c.nx));
    for (index_t line = lo; line < hi; ++line) {
      index_t const first = line / c.ny * 2 * s.slab() + line % c.ny * 2 * s.nx, C = line * c.nx;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (auto const& e : terms) {
        double* const to = sum.data() + e.target * c.nx;
        R const *const l = e.left ? e.left + C : ones.data(), *const r = e.right ? e.right + C : ones.data();
        auto const add = [&](auto const* a) {
          SLA_INDEPENDENT
          for (index_t ic = 0; ic < c.nx; ++ic) to[ic] += double(l[ic]) * double(a[2 * ic]) * double(r[ic]);
        };
        if (e.a)
          add(e.a + first + e.at);
        else
          add(diagonal + first + e.at);
      }
      for (int h = 0; h < c.pairs; ++h)
        for (index_t ic = 0; ic < c.nx; ++ic) next.off[std::size_t(h)].data()[C + ic] = R(sum[std::size_t(h * c.nx + ic)]);
    }
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

/// The next level, once this one has its interpolation; nothing, if a diagonal entry is not positive. Its row sums are P^T A (P 1).
template <class R>
std::optional<grid_level<R>> coarsened(grid_level<R>& level) {
  make_interpolation(level);
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
  if (constants) std::fill(next.sums.data(), next.sums.data() + c.points(), R(0));
  std::fill(one.data(), one.data() + c.points(), R(1));
  if (!constants) parallel_lines(c.nz, 8 * c.slab(), [&, sums = next.sums.data(), e = one.data()](index_t lo, index_t hi) {
    auto const fill = [&](index_t k, R* x) { interpolate_slab(A, k, e, [](index_t) { return R(0); }, x); };
    auto const product = [&](index_t k, R const* before, R const* x, R const* after, R* y) { slab_product<true>(A, k, before, x, after, y); };
    restricted_slabs(A, lo, hi, fill, product, sums);
  });
  std::atomic<bool> positive{true};
  parallel_lines(c.points(), 8, [&, B = next.view(), inverse = next.inverse.data()](index_t lo, index_t hi) {
    std::vector<double> d(static_cast<std::size_t>(hi - lo));
    diagonal_of(B, lo, hi, d.data() - lo);
    bool all = true;
    for (index_t i = lo; i < hi; ++i) {
      all = all && d[std::size_t(i - lo)] > 0;
      inverse[i] = R(double(next.omega) / d[std::size_t(i - lo)]);
    }
    if (!all) positive = false;
  });
  if (!positive) return {};
  return next;
}

} // namespace sla::detail
