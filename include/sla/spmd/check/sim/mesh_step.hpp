// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One step of a plan on all ranks of a simulated mesh: along one axis, or along several that act as one. Steps of one
// axis are in spmd/check/sim/axis_step.hpp, plans in spmd/plan/. Not part of spmd.hpp.
#pragma once
#include <vector>

#include <sla/spmd/check/sim/axis_step.hpp>
#include <sla/spmd/check/sim/value.hpp>

namespace sla::sim {

namespace detail {

/// The number of a rank among those that differ from it along these axes only, the first axis outermost.
constexpr int number_along(world const& w, std::vector<int> const& axes, int rank) {
  int n = 0;
  for (int a : axes) n = n * w.ranks_of(a) + w.coordinate(rank, a);
  return n;
}

/// The ranks that differ from `first` along these axes only, by their numbers.
constexpr std::vector<int> group_of(world const& w, std::vector<int> const& axes, int first) {
  std::vector<int> group = {first};
  for (int a : axes) {
    std::vector<int> next;
    for (int r : group)
      for (int c = 0; c < w.ranks_of(a); ++c) next.push_back(r + c * w.stride(a));
    group = next;
  }
  return group;
}

/// How the axes together shard a dimension, of which outer axes have left so many indices. Several axes act as one
/// only if every one of them shards equal pieces.
constexpr owned_indices holding_along(world const& w, tensor_placement const& t, std::vector<int> const& axes,
                                std::vector<int> const& extents, int rank) {
  auto const p = t.on[axes[0]];
  if (!is_sharded(p.kind)) return {};
  auto const left = left_outside(w, t, extents, rank, axes[0]);
  if (left.empty()) return {};
  int n = 1;
  for (int a : axes) n *= w.ranks_of(a);
  return w.family(p).split_indices(count(left[static_cast<std::size_t>(array_dim(p, t))].indices), n);
}

} // namespace detail

/// The step on all ranks. `axes`: those that act, in the order in which they shard, the outermost first;
/// permute_shards takes all axes of the dimension in their old order. `extents`: of the whole value. Replicate,
/// Invariant, Partial and Shard of dense values.
template <class T>
constexpr on_ranks<T> take_step(world const& w, step how, std::vector<int> const& axes, tensor_placement const& before,
                                tensor_placement const& after, on_ranks<T> const& xs, std::vector<int> const& extents) {
  auto ys = xs;
  auto new_order = axes;
  if (how == step::permute_shards) {
    new_order.clear();
    for (int a : detail::outer_first(after))
      for (int b : axes)
        if (a == b) new_order.push_back(a);
  }
  for (int rank = 0; rank < w.size(); ++rank) {
    if (detail::number_along(w, axes, rank) != 0) continue;
    auto const group = detail::group_of(w, axes, rank);
    if (how == step::permute_shards) { // to each rank from the one whose piece it has afterwards
      for (int to : group) {
        int const piece = detail::number_along(w, new_order, to);
        ys[static_cast<std::size_t>(to)] = xs[static_cast<std::size_t>(group[static_cast<std::size_t>(piece)])];
      }
      continue;
    }
    on_ranks<T> mine;
    for (int r : group) mine.push_back(xs[static_cast<std::size_t>(r)]);
    parts const p{0,
                  detail::holding_along(w, before, axes, extents, rank),
                  detail::holding_along(w, after, axes, extents, rank),
                  {},
                  {}};
    auto const made = take_step(transition{how, before.on[axes[0]], after.on[axes[0]]}, mine, p);
    for (std::size_t n = 0; n < group.size(); ++n) ys[static_cast<std::size_t>(group[n])] = made[n];
  }
  return ys;
}

} // namespace sla::sim
