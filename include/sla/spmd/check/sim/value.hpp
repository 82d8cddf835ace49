// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From one global value to what every rank of a simulated mesh holds, in several ways, and back. Collectives are in
// spmd/check/sim/list_collectives.hpp. Not part of spmd.hpp.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <sla/spmd/check/sim/list_collectives.hpp>
#include <sla/spmd/check/sim/ranks.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla::sim {

/// How a global value becomes a pending reduction: `seed` varies the parts, which are never equal shares; with `flip`
/// the winners of a maximum or minimum change places.
struct split_seed {
  std::uint32_t seed = 1;
  bool flip = false;
};

namespace detail {

constexpr std::uint32_t mix(std::uint32_t a, std::uint32_t b) {
  a ^= b + 0x9e3779b9U + (a << 6) + (a >> 2);
  a ^= a >> 16;
  a *= 0x7feb352dU;
  a ^= a >> 15;
  a *= 0x846ca68bU;
  return a ^ (a >> 16);
}

constexpr double factor(int draw) { return (draw % 2 ? -1.0 : 1.0) * (draw < 2 ? 0.5 : draw < 5 ? 2.0 : 4.0); }

/// Parts whose fold is x. Sums: numbers of both signs that differ by rank and entry. Maxima: the winner changes from
/// entry to entry and from operand to operand, the losers lie at different distances. Products: factors of both signs.
template <class T>
constexpr on_ranks<T> pending(array<T> const& x, monoid how, int ranks, split_seed m) {
  auto xs = copies(x, ranks);
  for (int n = 0; n < x.size(); ++n) {
    auto const h = mix(m.seed, static_cast<std::uint32_t>(n));
    int const winner = static_cast<int>((mix(h, 1U) / 8U + (m.flip ? 1U : 0U)) % static_cast<std::uint32_t>(ranks));
    int total = 0;
    for (int r = 0; r < ranks; ++r) {
      auto const draw = static_cast<int>(mix(h, static_cast<std::uint32_t>(r)) % 7U);
      T& mine = xs[static_cast<std::size_t>(r)][n];
      bool const last = r + 1 == ranks;
      switch (how) {
      case monoid::maximum:
        if (r != winner) mine = mine - T(1 + draw);
        break;
      case monoid::minimum:
        if (r != winner) mine = mine + T(1 + draw);
        break;
      case monoid::product: // powers of two, which the winner divides out without rounding
        if (r != winner) mine = T(factor(draw));
        for (int q = 0; q < ranks && r == winner; ++q)
          if (q != winner) mine = mine / T(factor(static_cast<int>(mix(h, static_cast<std::uint32_t>(q)) % 7U)));
        break;
      default: {
        int const part = last ? -total : draw - 3;
        total += part;
        bool const all = how == monoid::average || r == winner;
        mine = (all ? mine : T{}) + T(part);
      }
      }
    }
  }
  return xs;
}

/// Contributions to a halo whose sum is x: numbers in the halos, and in the own entries what they leave.
template <class T>
constexpr on_ranks<T> pending_halo(array<T> const& x, int d, owned_indices const& own, owned_indices const& ghosts,
                                   std::uint32_t seed) {
  on_ranks<T> ys;
  auto left = x;
  for (int r = 0; r < ghosts.ranks(); ++r) {
    array<T> y(with_extent(x, d, count(ghosts[r])));
    int const inner = y.inner(d), outer = y.outer(d), mine = count(own[r]), all = count(ghosts[r]);
    for (int o = 0; o < outer; ++o)
      for (int j = mine; j < all; ++j)
        for (int i = 0; i < inner; ++i) {
          int const n = (o * all + j) * inner + i;
          y[n] = T(static_cast<int>(mix(mix(seed, static_cast<std::uint32_t>(r)), static_cast<std::uint32_t>(n)) % 7U) -
                   3);
        }
    put(left, d, ghosts[r], y, [](T const& a, T const& b) { return a - b; });
    ys.push_back(std::move(y));
  }
  for (int r = 0; r < ghosts.ranks(); ++r)
    put(ys[static_cast<std::size_t>(r)], d, own_positions(own, r), take(left, d, own[r]));
  return ys;
}

/// The axes in the order in which they shard: outer ones first.
constexpr std::vector<int> outer_first(tensor_placement const& t) {
  std::vector<int> order = all_indices(t.axes);
  for (std::size_t n = 1; n < order.size(); ++n)
    for (auto k = n; k > 0; --k)
      if (is_outer(t, order[k], order[k - 1])) {
        int const swap = order[k];
        order[k] = order[k - 1];
        order[k - 1] = swap;
      }
  return order;
}

/// What is left of each dimension to a rank when the axes outside of `stop` have sharded theirs.
constexpr std::vector<remainder> left_outside(world const& w, tensor_placement const& t, std::vector<int> const& extents,
                                              int rank, int stop) {
  std::vector<remainder> left;
  for (int d = 0; d < count(extents); ++d) left.push_back(remainder_of(w, t, d, extents[static_cast<std::size_t>(d)]));
  for (int a : outer_first(t)) {
    if (a == stop) break;
    auto const p = t.on[a];
    if (!is_sharded(p.kind)) continue;
    auto& mine = left[static_cast<std::size_t>(array_dim(p, t))];
    if (!accepts(w, p, a, mine)) return {};
    narrow(w, p, a, mine, w.coordinate(rank, a));
  }
  return left;
}

constexpr bool same(double a, double b) { // no number equals no number
  double const difference = a < b ? b - a : a - b, size = (a < 0 ? -a : a) + (b < 0 ? -b : b);
  return a == b || (a != a && b != b) || difference <= 1e-9 * (1 + size);
}

} // namespace detail

/// Equal entries, up to rounding.
template <class T>
constexpr bool same(array<T> const& a, array<T> const& b) {
  if (a.extents != b.extents) return false;
  for (int n = 0; n < a.size(); ++n)
    if (!detail::same(a[n], b[n])) return false;
  return true;
}

/// For each dimension of a global array of these extents, which indices a rank holds (global ones, in local order).
/// Empty where a family cannot shard the extent.
constexpr std::vector<std::vector<int>> held_by(world const& w, tensor_placement const& t, std::vector<int> const& extents,
                                                int rank) {
  std::vector<std::vector<int>> held;
  for (auto& left : detail::left_outside(w, t, extents, rank, -1)) held.push_back(std::move(left.indices));
  return held;
}

/// What every rank holds of the value. A Varying takes the first dimension apart, one for each of its axes in mesh
/// order. Empty where a family cannot shard the extent.
template <class T>
constexpr on_ranks<T> split(world const& w, tensor_placement const& t, array<T> const& value, split_seed m = {}) {
  on_ranks<T> out;
  auto const order = detail::outer_first(t);
  for (int rank = 0; rank < w.size(); ++rank) {
    array<T> x = value;
    auto seed = m.seed;
    for (int a = 0; a < t.axes; ++a) { // the tuples first
      if (t.on[a].kind != placement_kind::varying) continue;
      if (x.extent(0) != w.ranks_of(a)) return {};
      x = unstack(x)[static_cast<std::size_t>(w.coordinate(rank, a))];
      seed = detail::mix(seed, static_cast<std::uint32_t>(w.coordinate(rank, a)));
    }
    remainder entries;
    if (t.is_sparse()) entries = remainder_of(w, t, t.batch, x.extent(t.batch));
    for (int a : order) {
      auto const p = t.on[a];
      int const c = w.coordinate(rank, a);
      if (p.kind == placement_kind::partial) {
        x = detail::pending(x, p.fold, w.ranks_of(a), {seed, m.flip})[static_cast<std::size_t>(c)];
      } else if (is_sharded(p.kind)) {
        int const d = array_dim(p, t);
        bool const of_entries = t.is_sparse() && d == t.batch;
        remainder left(all_indices(x.extent(d)));
        if (of_entries) left = entries;
        if (!accepts(w, p, a, left)) return {};
        auto const h = holding_of(w, p, a, left);
        if (p.kind == placement_kind::ghost_partial)
          x = detail::pending_halo(x, d, holding_of(w, p, a, left, false), h, seed)[static_cast<std::size_t>(c)];
        else
          x = take(x, d, h[c]);
        if (of_entries) narrow(w, p, a, entries, c);
      } else {
        continue;
      }
      seed = detail::mix(seed, static_cast<std::uint32_t>(c + 1));
    }
    out.push_back(std::move(x));
  }
  return out;
}

/// The value that the ranks hold together: the inverse of `split`. `extents`: of the value, without the dimensions of
/// Varying axes. Nothing if ranks disagree where they must hold the same, or a part has a wrong shape.
template <class T>
constexpr std::optional<array<T>> joined(world const& w, tensor_placement const& t, on_ranks<T> xs,
                                         std::vector<int> const& extents) {
  using kind = placement_kind;
  std::vector<int> order; // equal copies first, then from the inside, then the tuples
  auto const outer = detail::outer_first(t);
  for (int a = 0; a < t.axes; ++a)
    if (is_copied(t.on[a].kind)) order.push_back(a);
  for (auto n = outer.size(); n-- > 0;)
    if (auto k = t.on[outer[n]].kind; !is_copied(k) && k != kind::varying) order.push_back(outer[n]);
  for (int a = t.axes; a-- > 0;)
    if (t.on[a].kind == kind::varying) order.push_back(a);
  std::vector<int> done(static_cast<std::size_t>(t.axes), 0);
  for (int a : order) {
    auto const p = t.on[a];
    done[static_cast<std::size_t>(a)] = 1;
    for (int rank = 0; rank < w.size(); ++rank) {
      bool first = true;
      for (int b = 0; b < t.axes; ++b)
        first = first && (!done[static_cast<std::size_t>(b)] || w.coordinate(rank, b) == 0);
      if (!first) continue;
      on_ranks<T> group;
      for (int c = 0; c < w.ranks_of(a); ++c) group.push_back(xs[static_cast<std::size_t>(rank + c * w.stride(a))]);
      auto& result = xs[static_cast<std::size_t>(rank)];
      if (!is_sharded(p.kind))
        for (auto const& x : group)
          if (x.extents != group[0].extents) return std::nullopt;
      if (is_copied(p.kind)) {
        for (auto const& x : group)
          if (!same(x, group[0])) return std::nullopt;
      } else if (p.kind == kind::partial) {
        if (p.fold == monoid::none) return std::nullopt;
        result = folded(group, p.fold);
      } else if (p.kind == kind::varying) {
        result = stack(group);
      } else {
        int const d = array_dim(p, t);
        auto const held = detail::left_outside(w, t, extents, rank, a);
        if (held.empty()) return std::nullopt;
        auto const& left = held[static_cast<std::size_t>(d)];
        if (!accepts(w, p, a, left)) return std::nullopt;
        auto const h = holding_of(w, p, a, left);
        for (int r = 0; r < count(group); ++r) {
          auto const& x = group[static_cast<std::size_t>(r)];
          if (x.rank() != group[0].rank() || d >= x.rank() || with_extent(x, d, count(h[r])) != x.extents ||
              with_extent(x, d, 0) != with_extent(group[0], d, 0))
            return std::nullopt;
        }
        if (p.kind == kind::ghost_partial) {
          result = added(group, d, h);
        } else {
          result = joined(group, d, h);
          if (p.kind == kind::ghost) // the copies must agree
            for (int r = 0; r < count(group); ++r)
              if (!same(group[static_cast<std::size_t>(r)], take(result, d, h[r]))) return std::nullopt;
        }
      }
    }
  }
  return xs[0];
}

} // namespace sla::sim
