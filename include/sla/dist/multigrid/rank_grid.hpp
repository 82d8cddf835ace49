// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grids across ranks: is a matrix by rows the operator of a grid, whoever owns its points, and the interpolation from every second point (Dendy 1982).
// Of one rank: solve/precond/amg/grid, whose weights these are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/multigrid/rank_level.hpp>

namespace sla::detail {

/// The points of this rank's rows, by their numbers in a grid, x fastest.
struct rank_grid {
  grid_shape shape;
  std::vector<index_t> point;
  bool rough = false;  ///< couplings of some row along the axes differ by more than eight times, or have the sign of the diagonal

  double omega() const { return shape.is_plane() ? 0.8 : 0.85; }
  bool is_wide() const { return shape.nx >= 6 && shape.nz >= 6 && (shape.is_plane() || shape.ny >= 6); }
  /// Along x, y and z; of a plane along x and z.
  std::array<int, 3> place(index_t p) const {
    int const x = int(p % shape.nx), y = int(p / shape.nx % shape.ny), z = int(p / shape.slab());
    return shape.is_plane() ? std::array{x, z, 0} : std::array{x, y, z};
  }
};

/// The grid, if the symmetric A is an operator of 5, 9, 7 or 27 points on one, numbered line by line, with a positive diagonal. Collective.
template <class L>
std::shared_ptr<rank_grid const> grid_on_ranks(L const& A) {
  auto const& halo = *A.handle()->halo;
  auto const& rows = *A.handle()->rows;
  any_communicator& c = halo.communicator();
  auto const pattern = A.local().pattern().view();
  std::vector<index_t> behind;
  auto const knows = [&](index_t far) { return std::find(behind.begin(), behind.end(), far) != behind.end(); };
  auto const for_row = [&](index_t i, auto const& f) {
    pattern.for_row(i, [&, at = rows.global(i)](index_t s, index_t j) { f(j < halo.own() && rows.contiguous() ? j - i : halo.global(rows, j) - at, A.local().values()[s]); });
  };
  for (index_t i = 0; i < A.local().rows() && behind.size() < 14; ++i)
    for_row(i, [&](index_t far, auto) {
      if (far > 0 && !knows(far)) behind.push_back(far);
    });
  behind.resize((std::min)(behind.size(), std::size_t(14)));
  behind = all_gather(c, behind).values;
  std::sort(behind.begin(), behind.end());
  behind.erase(std::unique(behind.begin(), behind.end()), behind.end());
  auto const shape = grid_of_places(rows.extent(), behind);
  if (!shape) return nullptr;

  auto out = std::make_shared<rank_grid>(rank_grid{*shape, rows.members()});
  std::int64_t found[] = {0, 0};  // rows of no grid, and rough ones
  for (index_t i = 0; i < A.local().rows(); ++i) {
    index_t const p = rows.global(i), x = p % shape->nx, y = p / shape->nx % shape->ny;
    double diagonal = 0, least = INFINITY, most = 0;
    bool other = false, rough = false;
    for_row(i, [&](index_t far, double a) {
      if (far == 0) return void(diagonal = a);
      int const h = int(std::find(behind.begin(), behind.end(), std::abs(far)) - behind.begin()), sign = far > 0 ? 1 : -1;
      auto const& o = shape->offset[std::size_t((std::min)(h, shape->pairs - 1))];
      index_t const to_x = x + sign * o[0], to_y = y + sign * o[1];
      other = other || h == shape->pairs || to_x < 0 || to_x >= shape->nx || to_y < 0 || to_y >= shape->ny;  // it goes round a border
      rough = rough || a > 0;
      if (std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1 && a != 0) least = (std::min)(least, std::abs(a)), most = (std::max)(most, std::abs(a));
    });
    found[0] += other || !(diagonal > 0), found[1] += rough || most > 8 * least;
  }
  all_reduce(c, std::span<std::int64_t>(found));
  out->rough = found[1] > 0;
  return found[0] > 0 ? nullptr : out;
}

/// What a point is interpolated from: coarse points, by their numbers among those of all ranks, and their weights, by corners.
template <int Corners>
struct grid_shares {
  std::array<index_t, Corners> point;
  std::array<double, Corners> weight{};
  grid_shares() { point.fill(-1); }
};
/// P from every second point of each axis, and those points: a point with odd places gets the mean of its neighbours towards coarse points, weighted by the couplings
/// of its row, which is summed up along the other axes. Who owns a point owns it in all grids. Collective.
template <int Corners, class L>
std::pair<L, rank_grid> grid_interpolation(L const& A, rank_grid const& grid) {
  using T = typename local_of_t<L>::value_type;
  auto const& halo = *A.handle()->halo;
  any_communicator& c = halo.communicator();
  index_t const n = A.local().rows();
  auto const pattern = A.local().pattern().view();
  std::vector<std::array<int, 3>> place;
  for (index_t p : with_ghosts(halo, grid.point)) place.push_back(grid.place(p));
  auto const odd_axes = [&](index_t i) {
    auto const& at = place[std::size_t(i)];
    return (at[0] & 1) | (at[1] & 1) << 1 | (at[2] & 1) << 2;
  };
  rank_grid coarse{grid.shape.coarse(), {}};
  for (index_t i = 0; i < n; ++i)
    if (odd_axes(i) == 0) {
      index_t const p = grid.point[std::size_t(i)], z = p / grid.shape.slab(), y = p / grid.shape.nx % grid.shape.ny, x = p % grid.shape.nx;
      coarse.point.push_back(x / 2 + (y / 2 + z / 2 * coarse.shape.ny) * coarse.shape.nx);
    }
  std::vector<index_t> first{0};
  for (index_t count : all_gather(c, index_t(coarse.point.size()))) first.push_back(first.back() + count);
  auto const owners = std::make_shared<row_partition const>(owner_map(std::move(first)), c.rank());

  std::vector<grid_shares<Corners>> shares(static_cast<std::size_t>(n));
  for (index_t i = 0, next = 0; i < n; ++i)
    if (odd_axes(i) == 0) shares[std::size_t(i)].point[0] = owners->global(next++), shares[std::size_t(i)].weight[0] = 1;
  for (int odd = 1; (1 << odd) <= Corners; ++odd) {
    shares.resize(std::size_t(n));
    shares = with_ghosts(halo, std::move(shares));
    for (index_t i = 0; i < n; ++i) {
      int const axes = odd_axes(i);
      if (std::popcount(unsigned(axes)) != odd) continue;
      auto& mine = shares[std::size_t(i)];
      auto const towards = [&](index_t j, int which) {  // the place of j from i, along some axes, as a number below 27
        int out = 0;
        for (int axis = 2; axis >= 0; --axis) out = 3 * out + 1 + ((which >> axis & 1) ? place[std::size_t(j)][std::size_t(axis)] - place[std::size_t(i)][std::size_t(axis)] : 0);
        return out;
      };
      std::array<index_t, 27> around;
      around.fill(-1);
      pattern.for_row(i, [&](index_t, index_t j) { around[std::size_t(towards(j, 7))] = j; });
      double whole = 0;
      pattern.for_row(i, [&](index_t s, index_t j) {
        double const a = double(A.local().values()[s]);
        index_t const near = around[std::size_t(towards(j, axes))];
        if (near < 0 || near == i) return void(whole += a);
        int const rest = odd_axes(near) & axes;
        int corner = 0;
        for (int axis = 0; axis < 3; ++axis)
          if ((axes >> axis & 1) && place[std::size_t(near)][std::size_t(axis)] > place[std::size_t(i)][std::size_t(axis)]) corner |= 1 << axis;
        auto const& of = shares[std::size_t(near)];
        for_parts(rest, [&](int k) {
          if (of.point[std::size_t(k)] < 0) return;
          mine.point[std::size_t(corner | k)] = of.point[std::size_t(k)], mine.weight[std::size_t(corner | k)] += a * of.weight[std::size_t(k)];
        });
      });
      for (double& w : mine.weight) w *= whole > 0 ? -1 / whole : 0;
    }
  }

  buffer<index_t> row_ptr(n + 1);
  std::vector<index_t> to;
  std::vector<T> weights;
  for (index_t i = 0; i < n; ++i) {
    auto const& mine = shares[std::size_t(i)];
    std::array<std::pair<index_t, double>, Corners> sorted;
    for (std::size_t k = 0; k < Corners; ++k) sorted[k] = {mine.weight[k] != 0 ? mine.point[k] : -1, mine.weight[k]};
    std::sort(sorted.begin(), sorted.end());
    for (auto const& [point, weight] : sorted)
      if (point >= 0) to.push_back(point), weights.push_back(T(weight));
    row_ptr[i + 1] = index_t(to.size());
  }
  buffer<index_t> col(index_t(to.size()), uninitialized);
  buffer<T> values(col.size(), uninitialized);
  std::copy(to.begin(), to.end(), col.data());
  std::copy(weights.begin(), weights.end(), values.data());
  auto const rows = made_of_global_rows<T, Matrix>(Matrix(n, owners->extent()), std::move(row_ptr), std::move(col), std::move(values));
  return {with_local_columns(A, rows, owners), std::move(coarse)};
}

} // namespace sla::detail
