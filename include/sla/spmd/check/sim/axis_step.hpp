// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transition carried out on simulated ranks, along one axis of a mesh, and the pairing of values with gradients.
// The functions on lists are in spmd/check/sim/list_collectives.hpp, the legality in spmd/step/transition.hpp. Not part of spmd.hpp.
#pragma once

#include <sla/spmd/check/sim/list_collectives.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla::sim {

/// What a step needs to know beyond the placements: whose parts they are, before and after. A Varying is stacked and
/// unstacked along `dim`. For assemble `from` has the entries
/// of each rank's terms, and for its adjoint `to`.
struct parts {
  int dim = 0;
  owned_indices from{}, to{};
  owned_indices from_halo{}, to_halo{}; ///< of ghosts: with the halo
};

/// One legal step on the ranks of one axis. Dimensions of shards are those of the arrays.
template <class T>
constexpr on_ranks<T> take_step(transition const& t, on_ranks<T> const& xs, parts const& p) {
  using kind = placement_kind;
  auto const a = t.from.kind, b = t.to.kind;
  int const d = t.from.dim, e = t.to.dim;
  switch (t.how) {
  case step::reinterpret:
    return xs;
  case step::all_reduce:
    return all_reduce(xs, t.from.fold);
  case step::all_gather:
    if (a == kind::varying) return all_gather_stack(xs, p.dim);
    if (a == kind::ghost) return all_gather(owned(xs, d, p.from), d, p.from);
    return all_gather(xs, d, p.from);
  case step::reduce_scatter:
    if (b == kind::varying) return reduce_scatter_unstack(xs, p.dim, t.from.fold);
    if (b == kind::ghost_partial) return zero_halo(reduce_scatter(xs, e, p.to, t.from.fold), e, p.to, p.to_halo);
    return reduce_scatter(xs, e, p.to, t.from.fold);
  case step::all_to_all:
    if (a == kind::varying) return all_to_all(xs, p.dim);
    [[fallthrough]];
  case step::repartition:
    return all_to_all(xs, d, p.from, e, p.to);
  case step::permute_shards: // on one axis alone nothing moves; see the form for two axes
    return xs;
  case step::halo_exchange:
    return halo_exchange(xs, d, p.from, p.to_halo);
  case step::halo_reduce:
    return halo_reduce(xs, d, p.to, p.from_halo);
  case step::assemble:
    if (b == kind::sparse_shard) return cut(added(xs, p.dim, p.from), p.dim, p.to);
    return assemble(xs, p.dim, p.from);
  case step::restrict_pattern:
    if (a == kind::partial) return restrict_pattern(xs, p.dim, p.to);
    if (a == kind::sparse_shard) return cut(joined(xs, p.dim, p.from), p.dim, p.to);
    return slice(xs, p.dim, p.to);
  case step::convert:
    break;
  }
  if (t.from == t.to) return xs;
  bool const from_copies = is_copied(a);
  if (from_copies && is_copied(b)) return xs;
  if (from_copies && b == kind::partial) return zero_off_root(xs);
  if (from_copies && b == kind::varying) return unbind(xs, p.dim);
  if (from_copies && b == kind::ghost) return restrict_to(xs, e, p.to_halo);
  if (from_copies) return slice(xs, e, p.to);
  if (a == kind::varying) return pad_stack(xs, p.dim);
  if (a == kind::ghost_partial) return embed(xs, d, p.from_halo);
  if (a == kind::ghost) return owned(xs, d, p.from);
  if (b == kind::ghost_partial) return zero_halo(xs, d, p.from, p.to_halo);
  return pad(xs, d, p.from);
}

/// <g, x> for a value of this placement and a gradient of its dual.
template <class T>
constexpr T pairing(placement_value p, on_ranks<T> const& g, on_ranks<T> const& x) {
  using kind = placement_kind;
  T sum{};
  for (int r = 0; r < count(x); ++r) {
    auto const& mine = g[static_cast<std::size_t>(p.kind == kind::partial ? 0 : r)];
    auto const& value = x[static_cast<std::size_t>(p.kind == kind::replicate ? 0 : r)];
    if (p.kind == kind::invariant && r > 0) break;
    for (int n = 0; n < value.size(); ++n) sum = sum + mine[n] * value[n];
  }
  return sum;
}

} // namespace sla::sim
