// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Families: how the indices of one axis are sharded over ranks, as owner maps without data.
// Placements that use them are in spmd/placement/placement.hpp; layouts found at run time are in dist/.
#pragma once
#include <concepts>
#include <cstdint>

#include <sla/core/meta.hpp>

namespace sla {

// A new family is one struct with the three flags and the five functions below (a contiguous one takes all but
// `accepts`, `first` and `owner` from detail::contiguous_family). No rule looks inside a family, so no rule changes.
//
//   even        every rank holds equally many
//   contiguous  rank r holds one interval, and the intervals are in rank order
//   stated      the owner map follows from extent and ranks alone (a partitioner's result does not)
//   reshapeable optional: dimensions may be merged with, or split off, one that it shards
//
//   accepts(extent, ranks)                   can this family shard so many over so many ranks?
//   owner(i, extent, ranks)                  the rank that holds global index i
//   local_extent(rank, extent, ranks)        how many indices a rank holds
//   local_to_global(rank, j, extent, ranks)  the global index of a rank's j-th
//   first(rank, extent, ranks)               contiguous families: where a rank's interval begins (rank == ranks: the
//   extent)

namespace detail {

template <class Self>
struct contiguous_family {
  static constexpr bool contiguous = true, stated = true;
  static constexpr std::int64_t local_extent(int rank, std::int64_t extent, int ranks) {
    return Self::first(rank + 1, extent, ranks) - Self::first(rank, extent, ranks);
  }
  static constexpr std::int64_t local_to_global(int rank, std::int64_t j, std::int64_t extent, int ranks) {
    return Self::first(rank, extent, ranks) + j;
  }
};

} // namespace detail

/// Equal contiguous pieces. Law: the number of ranks divides the extent.
struct Even : detail::contiguous_family<Even> {
  static constexpr bool even = true, reshapeable = true;
  static constexpr bool accepts(std::int64_t extent, int ranks) { return ranks > 0 && extent % ranks == 0; }
  static constexpr std::int64_t first(int rank, std::int64_t extent, int ranks) { return extent / ranks * rank; }
  static constexpr int owner(std::int64_t i, std::int64_t extent, int ranks) {
    return static_cast<int>(i / (extent / ranks));
  }
};

/// Contiguous pieces of ceil(extent / ranks); the last ranks may hold fewer, or nothing.
struct Ceil : detail::contiguous_family<Ceil> {
  static constexpr bool even = false;
  static constexpr bool accepts(std::int64_t, int ranks) { return ranks > 0; }
  static constexpr std::int64_t chunk(std::int64_t extent, int ranks) { return (extent + ranks - 1) / ranks; }
  static constexpr std::int64_t first(int rank, std::int64_t extent, int ranks) {
    auto const f = chunk(extent, ranks) * rank;
    return f < extent ? f : extent;
  }
  static constexpr int owner(std::int64_t i, std::int64_t extent, int ranks) {
    return static_cast<int>(i / chunk(extent, ranks));
  }
};

/// Contiguous pieces that differ by at most one: the first (extent mod ranks) ranks hold one more.
struct Balanced : detail::contiguous_family<Balanced> {
  static constexpr bool even = false;
  static constexpr bool accepts(std::int64_t, int ranks) { return ranks > 0; }
  static constexpr std::int64_t first(int rank, std::int64_t extent, int ranks) {
    auto const longer = extent % ranks;
    return extent / ranks * rank + (rank < longer ? rank : longer);
  }
  static constexpr int owner(std::int64_t i, std::int64_t extent, int ranks) {
    auto const size = extent / ranks, longer = extent % ranks, bound = longer * (size + 1);
    return static_cast<int>(i < bound ? i / (size + 1) : longer + (i - bound) / size);
  }
};

/// Contiguous pieces of the stated sizes, one per rank. Law: they add up to the extent.
template <std::int64_t... Sizes>
struct Table : detail::contiguous_family<Table<Sizes...>> {
  static_assert(((Sizes >= 0) && ...), "sla: a size in Table<...> is negative");
  static constexpr bool even = false;
  static constexpr bool accepts(std::int64_t extent, int ranks) {
    return ranks == static_cast<int>(sizeof...(Sizes)) && extent == (Sizes + ... + 0);
  }
  static constexpr std::int64_t first(int rank, std::int64_t, int) {
    std::int64_t sum = 0;
    int r = 0;
    ((sum += r++ < rank ? Sizes : 0), ...);
    return sum;
  }
  static constexpr int owner(std::int64_t i, std::int64_t, int) {
    std::int64_t end = 0;
    int r = 0;
    ((end += Sizes, r += i >= end ? 1 : 0), ...);
    return r;
  }
};

/// The dimension is cut into Pieces pieces, and each piece is sharded over all ranks by Base: rank r holds chunk r of
/// every piece. An all_to_all within one dimension makes it, and a merge of dimensions whose inner one is sharded.
template <int Pieces, class Base = Even>
struct Strided {
  static_assert(Pieces > 0, "sla: Strided<Pieces> cuts a dimension into at least one piece");
  static_assert(Base::contiguous, "sla: Strided<Pieces, Base> shards its pieces by a family of intervals");
  static constexpr bool even = Base::even, contiguous = false, stated = true;
  static constexpr int pieces = Pieces;
  using base = Base;

  static constexpr bool accepts(std::int64_t extent, int ranks) {
    if (!Base::accepts(extent, Pieces)) return false;
    bool fits = true;
    for (int p = 0; p < Pieces; ++p) fits = fits && Base::accepts(Base::local_extent(p, extent, Pieces), ranks);
    return fits;
  }
  static constexpr int owner(std::int64_t i, std::int64_t extent, int ranks) {
    int const p = Base::owner(i, extent, Pieces);
    return Base::owner(i - Base::first(p, extent, Pieces), Base::local_extent(p, extent, Pieces), ranks);
  }
  static constexpr std::int64_t local_extent(int rank, std::int64_t extent, int ranks) {
    std::int64_t sum = 0;
    for (int p = 0; p < Pieces; ++p) sum += Base::local_extent(rank, Base::local_extent(p, extent, Pieces), ranks);
    return sum;
  }
  static constexpr std::int64_t local_to_global(int rank, std::int64_t j, std::int64_t extent, int ranks) {
    for (int p = 0; p < Pieces; ++p) {
      auto const piece = Base::local_extent(p, extent, Pieces), mine = Base::local_extent(rank, piece, ranks);
      if (j < mine) return Base::first(p, extent, Pieces) + Base::first(rank, piece, ranks) + j;
      j -= mine;
    }
    return extent;
  }
};

/// A partition found at run time (by a partitioner, or given). The tag tells partitions apart at compile time; two of
/// one tag are told apart by the layouts that carry the owner maps.
template <fixed_string Tag = "">
struct Part {
  static constexpr auto tag = Tag;
  static constexpr bool even = false, contiguous = false, stated = false;
};

/// A family of shards: how a dimension is sharded over the ranks of an axis.
template <class F>
concept ShardFamily = requires {
  { F::even } -> std::convertible_to<bool>;
  { F::contiguous } -> std::convertible_to<bool>;
  { F::stated } -> std::convertible_to<bool>;
};

/// A family whose owner map follows from extent and ranks.
template <class F>
concept StatedFamily = ShardFamily<F> && F::stated && requires(std::int64_t i, int r) {
  { F::accepts(i, r) } -> std::same_as<bool>;
  { F::owner(i, i, r) } -> std::same_as<int>;
  { F::local_extent(r, i, r) } -> std::same_as<std::int64_t>;
  { F::local_to_global(r, i, i, r) } -> std::same_as<std::int64_t>;
};

/// A family as a value: its flags, and its functions where the owner map is stated.
struct family_facts {
  bool even = false, contiguous = false, stated = false, reshapeable = false;
  bool (*accepts)(std::int64_t extent, int ranks) = nullptr;
  std::int64_t (*local_extent)(int rank, std::int64_t extent, int ranks) = nullptr;
  std::int64_t (*local_to_global)(int rank, std::int64_t j, std::int64_t extent, int ranks) = nullptr;
};

namespace detail {
template <class F>
consteval family_facts facts_of() { // nothing of a type that is no family
  family_facts out;
  if constexpr (ShardFamily<F>) {
    out = {F::even, F::contiguous, F::stated};
    if constexpr (requires { F::reshapeable; }) out.reshapeable = F::reshapeable;
    if constexpr (StatedFamily<F>) {
      out.accepts = F::accepts;
      out.local_extent = F::local_extent;
      out.local_to_global = F::local_to_global;
    }
  }
  return out;
}
} // namespace detail

/// What the rules ask of a family, as a value.
template <class F>
inline constexpr family_facts family_facts_of = detail::facts_of<F>();

} // namespace sla
