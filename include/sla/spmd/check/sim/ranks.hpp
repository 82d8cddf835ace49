// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simulated meshes: how many ranks an axis has, and what the numbers of families and halo patterns in a `placement_value` mean.
// What the ranks do with their parts is in spmd/check/sim/list_collectives.hpp. Not part of spmd.hpp.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include <sla/spmd/check/sim/array.hpp>
#include <sla/spmd/placement/family.hpp>
#include <sla/spmd/placement/placement_values.hpp>

namespace sla::sim {

/// The indices of one dimension that each rank holds, in its local order. Those of a halo come after the own ones.
struct owned_indices {
  int extent = 0;
  std::vector<std::vector<int>> of{};
  constexpr std::vector<int> const& operator[](int r) const { return of[static_cast<std::size_t>(r)]; }
  constexpr int ranks() const { return count(of); }
};

/// Sharded out by an owner map: entry i goes to owner[i].
constexpr owned_indices sharded_by(std::vector<int> const& owner, int ranks) {
  owned_indices h{count(owner), std::vector<std::vector<int>>(static_cast<std::size_t>(ranks), std::vector<int>{})};
  for (int i = 0; i < h.extent; ++i) h.of[static_cast<std::size_t>(owner[static_cast<std::size_t>(i)])].push_back(i);
  return h;
}

/// Sharded out by a family. Law: it accepts the extent.
constexpr owned_indices sharded(family_facts const& family, int extent, int ranks) {
  owned_indices h{extent, {}};
  for (int r = 0; r < ranks; ++r) {
    std::vector<int> mine;
    auto const n = family.local_extent(r, extent, ranks);
    for (std::int64_t j = 0; j < n; ++j) mine.push_back(static_cast<int>(family.local_to_global(r, j, extent, ranks)));
    h.of.push_back(std::move(mine));
  }
  return h;
}
template <StatedFamily F>
constexpr owned_indices sharded(int extent, int ranks) {
  return sharded(family_facts_of<F>, extent, ranks);
}

/// The own indices, and after them those of the halo that the rank does not own.
constexpr owned_indices with_halo(owned_indices const& own, std::vector<std::vector<int>> const& halo) {
  owned_indices h = own;
  for (std::size_t r = 0; r < own.of.size(); ++r)
    for (int i : halo[r]) {
      bool known = false;
      for (int j : own.of[r]) known = known || i == j;
      if (!known) h.of[r].push_back(i);
    }
  return h;
}

/// What one number of a family means: the functions of a stated one, or the owner map of a Part. Below an outer axis a
/// dimension is shorter than the map; its first entries then count.
struct sharding {
  family_facts facts{};
  std::vector<int> owner{};
  constexpr bool accepts(int extent, int ranks) const {
    return facts.stated ? facts.accepts(extent, ranks) : extent <= count(owner);
  }
  constexpr owned_indices split_indices(int extent, int ranks) const {
    if (facts.stated) return sharded(facts, extent, ranks);
    std::vector<int> who(owner.begin(), owner.begin() + extent);
    for (int& r : who) r %= ranks;
    return sharded_by(who, ranks);
  }
};

/// Where the stored entries of a sparse operand are. Its array has the shape [*batch, entries, *block].
struct sparse_pattern {
  int rows = 0, columns = 0;
  std::vector<int> row{}, column{};
};

/// Mesh axes with their numbers of ranks, and what the numbers in a `placement_value` stand for.
struct world {
  std::vector<int> ranks{};
  std::vector<sharding> families{};                    ///< by placement_value::family
  std::vector<std::vector<std::vector<int>>> halos{}; ///< by placement_value::pattern; per rank, wanted from others
  sparse_pattern pattern{};                           ///< of the sparse operands

  constexpr int axes() const { return count(ranks); }
  constexpr int size() const {
    int n = 1;
    for (int r : ranks) n *= r;
    return n;
  }
  constexpr int ranks_of(int axis) const { return ranks[static_cast<std::size_t>(axis)]; }
  /// Between neighbours along the axis, in the row-major order of all ranks.
  constexpr int stride(int axis) const {
    int n = 1;
    for (int a = axis + 1; a < axes(); ++a) n *= ranks_of(a);
    return n;
  }
  constexpr int coordinate(int rank, int axis) const { return rank / stride(axis) % ranks_of(axis); }
  constexpr sharding const& family(placement_value p) const { return families[static_cast<std::size_t>(p.family)]; }
};

/// Which dimension of the array a placement shards: the entries of a sparse operand are one dimension.
constexpr int array_dim(placement_value p, tensor_placement const& t) {
  if (p.kind == placement_kind::sparse_shard || p.kind == placement_kind::hyper) return t.batch;
  return t.is_sparse() && p.dim > t.batch ? p.dim - 1 : p.dim;
}

/// What outer axes leave of one dimension, as global indices; of entries also the rows and columns that they are in.
struct remainder {
  std::vector<int> indices{}, rows{}, columns{};
  constexpr remainder() = default;
  constexpr explicit remainder(std::vector<int> held) : indices(std::move(held)) {}
  /// The lines that a placement by rows or columns shards.
  constexpr std::vector<int>& lines(placement_value p) { return p.dim == 0 ? rows : columns; }
  constexpr std::vector<int> const& lines(placement_value p) const { return p.dim == 0 ? rows : columns; }
};

/// All of dimension d of the array.
constexpr remainder remainder_of(world const& w, tensor_placement const& t, int d, int extent) {
  remainder all(all_indices(extent));
  if (t.is_sparse() && d == t.batch)
    all.rows = all_indices(w.pattern.rows), all.columns = all_indices(w.pattern.columns);
  return all;
}

/// Can the family shard what is left of the dimension? (Of entries: the rows or columns.)
constexpr bool accepts(world const& w, placement_value p, int axis, remainder const& left) {
  if (!is_sharded(p.kind)) return true;
  if (p.family < 0 || p.family >= count(w.families)) return false; // nobody knows by what it is sharded
  if (p.kind == placement_kind::ghost || p.kind == placement_kind::ghost_partial) {
    if (p.pattern < 0 || p.pattern >= count(w.halos)) return false;
    for (auto const& wanted : w.halos[static_cast<std::size_t>(p.pattern)])
      for (int i : wanted)
        if (i >= count(left.indices)) return false;
  }
  bool const by_lines = p.kind == placement_kind::sparse_shard;
  return w.family(p).accepts(count(by_lines ? left.lines(p) : left.indices), w.ranks_of(axis));
}

/// Who holds which index of the dimension that p shards along the axis, counted in what is left of it. With the halo
/// for ghosts if asked.
constexpr owned_indices holding_of(world const& w, placement_value p, int axis, remainder const& left, bool halo = true) {
  int const n = w.ranks_of(axis), extent = count(left.indices);
  if (p.kind == placement_kind::sparse_shard) {
    auto const& lines = left.lines(p);
    auto const sharded = w.family(p).split_indices(count(lines), n);
    std::vector<int> owner_of_line(static_cast<std::size_t>(p.dim == 0 ? w.pattern.rows : w.pattern.columns), 0), owner;
    for (int r = 0; r < n; ++r)
      for (int i : sharded[r]) owner_of_line[static_cast<std::size_t>(lines[static_cast<std::size_t>(i)])] = r;
    for (int e : left.indices) {
      auto const line = (p.dim == 0 ? w.pattern.row : w.pattern.column)[static_cast<std::size_t>(e)];
      owner.push_back(owner_of_line[static_cast<std::size_t>(line)]);
    }
    return sharded_by(owner, n);
  }
  auto own = w.family(p).split_indices(extent, n);
  bool const ghosts = p.kind == placement_kind::ghost || p.kind == placement_kind::ghost_partial;
  if (ghosts && halo) return with_halo(own, w.halos[static_cast<std::size_t>(p.pattern)]);
  return own;
}

/// What the rank of this coordinate has of what was left, for the axes inside.
constexpr void narrow(world const& w, placement_value p, int axis, remainder& left, int coordinate) {
  auto const chosen = [](std::vector<int>& all, std::vector<int> const& which) {
    std::vector<int> next;
    for (int i : which) next.push_back(all[static_cast<std::size_t>(i)]);
    all = std::move(next);
  };
  chosen(left.indices, holding_of(w, p, axis, left)[coordinate]);
  if (p.kind != placement_kind::sparse_shard) return;
  auto& lines = left.lines(p);
  chosen(lines, w.family(p).split_indices(count(lines), w.ranks_of(axis))[coordinate]);
}

} // namespace sla::sim
