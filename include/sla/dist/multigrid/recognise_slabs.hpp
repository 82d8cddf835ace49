// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is a matrix by rows the operator of a grid, of which each rank has lines one after the other? Then each rank's part as half diagonals, with those of the slabs around it.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <sla/dist/multigrid/rank_level.hpp>
#include <sla/dist/multigrid/slab_layout.hpp>
#include <sla/solve/precond/amg/grid/recognise.hpp>

namespace sla::detail {

/// The grid that rows of all ranks have entries of, a few rows of each looked at. Collective.
template <class L>
std::optional<grid_shape> shape_on_ranks(L const& A) {
  auto const& halo = *A.handle()->halo;
  auto const& rows = *A.handle()->rows;
  auto const pattern = A.local().pattern().view();
  std::vector<index_t> places, here;
  if (A.local().rows() > 0)
    for_sampled_rows(A.local().rows(), [&](index_t i) {
      here.clear();
      pattern.for_row(i, [&](index_t, index_t j) {
        index_t const far = halo.global(rows, j) - rows.global(i);
        if (far > 0) here.push_back(far);
      });
      if (here.size() > places.size() && here.size() <= 13) places = here;
    });
  places = all_gather(halo.communicator(), places).values;
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return grid_of_places(rows.extent(), places);
}

/// A / scale on the slabs that this rank holds, and whether some rows are rough (grid_evidence).
template <class R>
struct found_slabs {
  slab_layout layout;
  grid_level<R> level;
  double scale;
  bool rough;
};
/// If A is symmetric, its diagonal positive, a rank's rows a range, and there are four slabs for each rank. Collective. Cost: two passes over the matrix.
template <class R, class L>
std::optional<found_slabs<R>> recognise_slabs(L const& A) {
  using T = typename local_of_t<L>::value_type;
  auto const& halo = *A.handle()->halo;
  auto const& rows = *A.handle()->rows;
  any_communicator& c = halo.communicator();
  if (!rows.contiguous()) return {};
  auto const shape = shape_on_ranks(A);
  if (!shape || shape->nz < 4 * c.size()) return {};
  slab_layout const layout{&rows, *shape, shape->slab()};
  grid_level<R> level(layout.local(c.rank()), R(shape->is_plane() ? 0.8 : 0.85));

  index_t const n = A.local().rows(), first = rows.first(c.rank()), size = shape->slab(), begin = layout.held(c.rank()).first * size;
  auto const pattern = A.local().pattern().view();
  T const* const values = A.local().values().data();
  auto const for_row = [&](index_t i, auto const& f) {
    pattern.for_row(i, [&](index_t s, index_t j) { f((j < halo.own() ? first + j : halo.global(rows, j)) - (first + i), double(values[s])); });
  };
  double extremes[] = {0, 0};  // of the diagonal: the largest, and the inverse of the least
  for (index_t i = 0; i < n; ++i)
    for_row(i, [&](index_t far, double a) {
      if (far == 0) extremes[0] = (std::max)(extremes[0], a), extremes[1] = (std::max)(extremes[1], a > 0 ? 1 / a : INFINITY);
    });
  all_reduce(c, std::span<double>(extremes), monoid::maximum);
  double const most = extremes[0], least = 1 / extremes[1];
  double const scale = most > 0 && std::isfinite(most) ? std::ldexp(1.0, std::clamp(std::ilogb(most), -1000, 1000)) : 1;
  grid_target<R> const to(level, 1 / scale, T());
  int const pairs = shape->pairs;
  index_t shift[13];
  for (int h = 0; h < pairs; ++h) shift[h] = shape->shift(h);
  auto const direction = [&](index_t far) {
    int h = 0;
    while (h < pairs && shift[h] != far) ++h;
    return h;
  };
  auto const e = merged_ranges<grid_evidence>(n, [&](index_t lo, index_t hi) {
    grid_evidence here;
    for (index_t i = lo; i < hi; ++i) {
      index_t const p = first + i, q = p - begin, x = p % shape->nx, y = p / shape->nx % shape->ny;
      double diagonal = 0, sum = 0, sizes = 0, smallest = INFINITY, largest = 0;
      bool positive = false;
      for (int h = 0; h < pairs; ++h) to.off[h][q] = 0;
      for_row(i, [&](index_t far, double value) {
        double const a = to.factor * value;
        sum += a, sizes += std::abs(a);
        if (far == 0) return void(diagonal = a);
        if (a == 0) return;
        int const h = direction(std::abs(far)), sign = far > 0 ? 1 : -1;
        if (h == pairs) return void(here.holds = false);
        auto const& o = shape->offset[std::size_t(h)];
        index_t const to_x = x + sign * o[0], to_y = y + sign * o[1];
        here.holds = here.holds && to_x >= 0 && to_x < shape->nx && to_y >= 0 && to_y < shape->ny;  // or it goes round a border
        if (std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) == 1) smallest = (std::min)(smallest, std::abs(a)), largest = (std::max)(largest, std::abs(a));
        positive = positive || a > 0;
        here.after += sign;
        if (far > 0) to.off[h][q] = R(a);
      });
      here.holds = here.holds && diagonal > 0;
      here.look_at(smallest, largest, positive);
      to.finish(q, diagonal, sum, sizes);
    }
    return here;
  });
  std::int64_t told[] = {!e.holds || (std::is_same_v<R, float> && !(scale * 1e-18 < least && most < 1e6 * least)), e.rough, e.after};
  all_reduce(c, std::span<std::int64_t>(told));
  if (told[0] > 0 || told[2] != 0) return {};

  std::vector<std::pair<R const*, R*>> arrays;
  for (int k = 0; k < pairs + 2; ++k) arrays.push_back({level.numbers.data(k) - begin, level.numbers.data(k) - begin});
  auto const owned = [&](int r) { return slab_range{rows.first(r), rows.first(r + 1)}; };
  auto const held = [&](int r) { return slab_range{layout.held(r).first * size, layout.held(r).last * size}; };
  exchange_once(c, range_messages(c, owned, held), arrays, 1);
  bool const symmetric = merged_ranges<grid_evidence>(n, [&](index_t lo, index_t hi) {
    grid_evidence here;
    for (index_t i = lo; i < hi; ++i)
      for_row(i, [&](index_t far, double value) {
        if (far < 0 && to.factor * value != 0) here.holds = here.holds && to.are_partners(to.factor * value, double(to.off[direction(-far)][first + i - begin + far]));
      });
    return here;
  }).holds;
  if (all_reduce(c, index_t(!symmetric)) > 0) return {};
  return found_slabs<R>{layout, std::move(level), scale, told[1] > 0};
}

} // namespace sla::detail
