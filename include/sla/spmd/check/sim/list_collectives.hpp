// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives and conversions of one axis as pure functions on the list of what its ranks hold, one sentence each.
// Which one a transition means is in spmd/check/sim/axis_step.hpp; the real ones are in dist/. Not part of spmd.hpp.
#pragma once
#include <vector>

#include <sla/spmd/check/sim/array.hpp>
#include <sla/spmd/check/sim/ranks.hpp>

namespace sla::sim {

/// x on every rank.
template <class T>
constexpr on_ranks<T> copies(array<T> const& x, int ranks) {
  return on_ranks<T>(static_cast<std::size_t>(ranks), x);
}

/// The fold of all, in rank order; an average is a sum divided by their number.
template <class T>
constexpr array<T> folded(on_ranks<T> const& xs, monoid how) {
  auto y = xs[0];
  for (int r = 1; r < count(xs); ++r)
    for (int n = 0; n < y.size(); ++n) y[n] = fold(how, y[n], xs[static_cast<std::size_t>(r)][n]);
  if (how == monoid::average)
    for (T& v : y.values) v = v / T(count(xs));
  return y;
}

/// The parts put where their indices say.
template <class T>
constexpr array<T> joined(on_ranks<T> const& xs, int d, owned_indices const& h) {
  array<T> y(with_extent(xs[0], d, h.extent));
  for (int r = 0; r < count(xs); ++r) put(y, d, h[r], xs[static_cast<std::size_t>(r)]);
  return y;
}
/// The parts added where their indices say: indices may be held by several.
template <class T>
constexpr array<T> added(on_ranks<T> const& xs, int d, owned_indices const& h) {
  array<T> y(with_extent(xs[0], d, h.extent));
  for (int r = 0; r < count(xs); ++r)
    put(y, d, h[r], xs[static_cast<std::size_t>(r)], [](T const& a, T const& b) { return a + b; });
  return y;
}
/// Rank r: the entries that it holds.
template <class T>
constexpr on_ranks<T> cut(array<T> const& x, int d, owned_indices const& h) {
  on_ranks<T> ys;
  for (int r = 0; r < h.ranks(); ++r) ys.push_back(take(x, d, h[r]));
  return ys;
}
/// An array like x that adds nothing to a reduction.
template <class T>
constexpr array<T> nothing_like(array<T> x, monoid how = monoid::sum) {
  for (T& v : x.values) v = identity_of<T>(how);
  return x;
}

/// Partial to Replicate or Invariant. Every rank: the fold of all.
template <class T>
constexpr on_ranks<T> all_reduce(on_ranks<T> const& xs, monoid how = monoid::sum) {
  return copies(folded(xs, how), count(xs));
}

/// Shard to Replicate or Invariant. Every rank: the parts joined.
template <class T>
constexpr on_ranks<T> all_gather(on_ranks<T> const& xs, int d, owned_indices const& h) {
  return copies(joined(xs, d, h), count(xs));
}
/// Varying to Replicate or Invariant. Every rank: all values stacked.
template <class T>
constexpr on_ranks<T> all_gather_stack(on_ranks<T> const& xs, int d = 0) {
  return copies(stack(xs, d), count(xs));
}

/// Partial to Shard. Rank r: its part of the fold.
template <class T>
constexpr on_ranks<T> reduce_scatter(on_ranks<T> const& xs, int d, owned_indices const& h, monoid how = monoid::sum) {
  return cut(folded(xs, how), d, h);
}
/// Partial to Varying. Rank r: slice r of the fold along a dimension of as many indices as ranks.
template <class T>
constexpr on_ranks<T> reduce_scatter_unstack(on_ranks<T> const& xs, int d = 0, monoid how = monoid::sum) {
  return unstack(folded(xs, how), d);
}

/// Varying to Varying. Rank r: slice r of every rank, stacked.
template <class T>
constexpr on_ranks<T> all_to_all(on_ranks<T> const& xs, int d = 0) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r) {
    on_ranks<T> received;
    for (auto const& x : xs) received.push_back(unstack(x, d)[static_cast<std::size_t>(r)]);
    ys.push_back(stack(received, d));
  }
  return ys;
}
/// Shard to Shard of another dimension, or of another family. Rank r: its part along j of the parts joined along i.
template <class T>
constexpr on_ranks<T> all_to_all(on_ranks<T> const& xs, int i, owned_indices const& from, int j, owned_indices const& to) {
  return cut(joined(xs, i, from), j, to);
}

/// Two axes shard one dimension evenly, first the outer one. The ranks are listed with the outer coordinate first;
/// afterwards rank (outer, inner) has the block that (inner, outer) would have if the axes were exchanged.
template <class T>
constexpr on_ranks<T> permute_shards(on_ranks<T> const& xs, int outer, int inner) {
  on_ranks<T> ys;
  for (int a = 0; a < outer; ++a)
    for (int b = 0; b < inner; ++b) ys.push_back(xs[static_cast<std::size_t>(b * outer + a)]);
  return ys;
}

/// Replicate or Invariant to Shard. Rank r: its part of what it has.
template <class T>
constexpr on_ranks<T> slice(on_ranks<T> const& xs, int d, owned_indices const& h) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r) ys.push_back(take(xs[static_cast<std::size_t>(r)], d, h[r]));
  return ys;
}
/// Replicate or Invariant to Varying. Rank r: slice r of what it has.
template <class T>
constexpr on_ranks<T> unbind(on_ranks<T> const& xs, int d = 0) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r)
    ys.push_back(unstack(xs[static_cast<std::size_t>(r)], d)[static_cast<std::size_t>(r)]);
  return ys;
}
/// Replicate or Invariant to Partial. Rank 0: what it has; the others: zeros.
template <class T>
constexpr on_ranks<T> zero_off_root(on_ranks<T> xs) {
  for (int r = 1; r < count(xs); ++r)
    xs[static_cast<std::size_t>(r)] = nothing_like(std::move(xs[static_cast<std::size_t>(r)]));
  return xs;
}
/// Shard to Partial, and GhostP to Partial. Rank r: its part among zeros of the whole extent.
template <class T>
constexpr on_ranks<T> pad(on_ranks<T> const& xs, int d, owned_indices const& h) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r) {
    array<T> y(with_extent(xs[static_cast<std::size_t>(r)], d, h.extent));
    put(y, d, h[r], xs[static_cast<std::size_t>(r)]);
    ys.push_back(std::move(y));
  }
  return ys;
}
/// Varying to Partial. Rank r: its value as slice r among zeros.
template <class T>
constexpr on_ranks<T> pad_stack(on_ranks<T> const& xs, int d = 0) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r) {
    auto slices = copies(nothing_like(xs[0]), count(xs));
    slices[static_cast<std::size_t>(r)] = xs[static_cast<std::size_t>(r)];
    ys.push_back(stack(slices, d));
  }
  return ys;
}

/// How many of a rank's indices are its own.
constexpr std::vector<int> own_positions(owned_indices const& own, int r) { return all_indices(count(own[r])); }

/// Shard to Ghost. Rank r: its own entries, and the halo from those who own it.
template <class T>
constexpr on_ranks<T> halo_exchange(on_ranks<T> const& xs, int d, owned_indices const& own, owned_indices const& ghosts) {
  return cut(joined(xs, d, own), d, ghosts);
}
/// GhostP to Shard. The owner of an index: the sum over all ranks that hold it.
template <class T>
constexpr on_ranks<T> halo_reduce(on_ranks<T> const& xs, int d, owned_indices const& own, owned_indices const& ghosts) {
  return cut(added(xs, d, ghosts), d, own);
}
/// Ghost to Shard. Rank r: its own entries, without the halo.
template <class T>
constexpr on_ranks<T> owned(on_ranks<T> const& xs, int d, owned_indices const& own) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r) ys.push_back(take(xs[static_cast<std::size_t>(r)], d, own_positions(own, r)));
  return ys;
}
/// Shard to GhostP. Rank r: its own entries, and zeros in the halo.
template <class T>
constexpr on_ranks<T> zero_halo(on_ranks<T> const& xs, int d, owned_indices const& own, owned_indices const& ghosts) {
  on_ranks<T> ys;
  for (int r = 0; r < count(xs); ++r) {
    array<T> y(with_extent(xs[static_cast<std::size_t>(r)], d, count(ghosts[r])));
    put(y, d, own_positions(own, r), xs[static_cast<std::size_t>(r)]);
    ys.push_back(std::move(y));
  }
  return ys;
}
/// Replicate to Ghost. Rank r: of what it has, its own entries and the halo.
template <class T>
constexpr on_ranks<T> restrict_to(on_ranks<T> const& xs, int d, owned_indices const& ghosts) {
  return slice(xs, d, ghosts);
}
/// GhostP to Partial. Rank r: its contributions among zeros.
template <class T>
constexpr on_ranks<T> embed(on_ranks<T> const& xs, int d, owned_indices const& ghosts) {
  return pad(xs, d, ghosts);
}

/// Sparse terms of own patterns: rank r holds the values of the entries `terms[r]` of the united pattern (several may
/// hold one entry). Every rank: the sums on the united pattern.
template <class T>
constexpr on_ranks<T> assemble(on_ranks<T> const& xs, int d, owned_indices const& terms) {
  return copies(added(xs, d, terms), count(xs));
}
/// Its adjoint. Rank r: of the sum of what all have, the entries of its own pattern.
template <class T>
constexpr on_ranks<T> restrict_pattern(on_ranks<T> const& xs, int d, owned_indices const& terms) {
  return cut(folded(xs, monoid::sum), d, terms);
}

} // namespace sla::sim
