// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placements: what the ranks of one mesh axis hold of a tensor, each an empty type with its dual (the placement of its
// gradient). Owner maps of shards are in spmd/placement/family.hpp, the rules that combine placements in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/family.hpp>

namespace sla {

/// What a placement says about the ranks of its axis, as a value. `x_r` is what rank r holds.
enum class placement_kind : std::int8_t {
  untyped,      ///< nothing is known yet
  replicate,    ///< all x_r are equal; N independent uses
  invariant,    ///< all x_r are equal; one computation that every rank repeats
  varying,      ///< the tuple (x_0, ..., x_{N-1})
  partial,      ///< a pending reduction: the sum (or another monoid) of the x_r
  shard,        ///< x_r is part r of one tensor, along a dense dimension
  sparse_shard, ///< x_r has the rows (or columns) of part r of one sparse tensor
  hyper,        ///< x_r has the entries of part r of one sparse tensor, whatever their rows and columns
  ghost,        ///< a shard with copies of the entries of others that its rank reads
  ghost_partial ///< the dual of ghost: contributions to own entries and to those of others
};

/// The commutative monoids of a pending reduction, as values.
enum class monoid : std::int8_t { none, sum, average, maximum, minimum, product };

/// Sums and averages commute with each other; no other two reductions do.
constexpr bool is_sum(monoid m) { return m == monoid::sum || m == monoid::average; }

// The monoids as types: `Partial<Max>`.
/// Summands: `Partial<>` is `Partial<Sum>`.
struct Sum {
  static constexpr monoid value = monoid::sum;
};
/// Values whose mean is meant.
struct Avg {
  static constexpr monoid value = monoid::average;
};
/// Values of which the largest is meant.
struct Max {
  static constexpr monoid value = monoid::maximum;
};
/// Values of which the smallest is meant.
struct Min {
  static constexpr monoid value = monoid::minimum;
};
/// Factors.
struct Prod {
  static constexpr monoid value = monoid::product;
};

/// What a Partial placement folds with: Sum, Avg, Max, Min or Prod.
template <class M>
concept Monoid = requires {
  monoid{M::value};
};

/// The dual of a placement that has none: its values are not differentiable across ranks.
struct no_dual {};

template <Monoid Op = Sum>
struct Partial;

/// Nothing is known of what the ranks hold: numbers drawn at random, memory that nobody wrote. `assume` gives it a meaning.
struct Untyped {
  static constexpr placement_kind kind = placement_kind::untyped;
  using dual = no_dual;
};

/// The same value on every rank. Gradient: each rank contributes a part of it (Partial).
struct Replicate {
  static constexpr placement_kind kind = placement_kind::replicate;
  using dual = Partial<Sum>;
};

/// The same value on every rank, made by one logical computation. Gradient: every rank has all of it (Invariant).
struct Invariant {
  static constexpr placement_kind kind = placement_kind::invariant;
  using dual = Invariant;
};

/// A value of its own on each rank.
struct Varying {
  static constexpr placement_kind kind = placement_kind::varying;
  using dual = Varying;
};

/// A pending reduction: the value is the sum (max, min, ...) of what the ranks hold; `all_reduce` finishes it.
template <Monoid Op>
struct Partial {
  static constexpr placement_kind kind = placement_kind::partial;
  using monoid_type = Op;
  using dual = std::conditional_t<std::is_same_v<Op, Sum>, Replicate, no_dual>;
};

/// Dimension Dim is sharded over the ranks by a family. Dim counts the dense dimensions of a dense tensor, and
/// (*batch, M, N, *block) of a sparse one, where M and N are placed by SparseShard. Where several axes shard one
/// dimension, the axis of the lowest Level is outermost, and of equal levels the first in the mesh: only an order other
/// than the mesh's has levels other than 0.
template <int Dim, ShardFamily Family = Even, int Level = 0>
struct Shard {
  static constexpr placement_kind kind = placement_kind::shard;
  static constexpr int dim = Dim;
  static constexpr int level = Level;
  using family = Family;
  using dual = Shard;
};

/// Sparse operands: each rank holds the entries of its rows (Axis 0) or columns (Axis 1), whatever the batch.
template <int Axis, ShardFamily Family = Part<>>
struct SparseShard {
  static_assert(Axis == 0 || Axis == 1,
                "sla: a sparse tensor is sharded by rows, SparseShard<0>, or by columns, SparseShard<1>");
  static constexpr placement_kind kind = placement_kind::sparse_shard;
  static constexpr int dim = Axis;
  using family = Family;
  using dual = SparseShard;
};

/// Sparse operands: each rank holds the entries that a partition of the nonzeros gives it, whatever their rows and
/// columns (hypergraph and medium-grain partitions).
template <ShardFamily Family = Part<>>
struct Hyper {
  static constexpr placement_kind kind = placement_kind::hyper;
  static constexpr int dim = 0;
  using family = Family;
  using dual = Hyper;
};

/// The name of a halo pattern as a type.
template <fixed_string Name>
struct pattern_name {
  static constexpr auto value = Name;
};

template <int Dim, ShardFamily Family = Part<>, fixed_string Pattern = "">
struct GhostP;

/// A shard, and consistent copies of the halo that Pattern names: what a rank's rows read.
template <int Dim, ShardFamily Family = Part<>, fixed_string Pattern = "">
struct Ghost {
  static constexpr placement_kind kind = placement_kind::ghost;
  static constexpr int dim = Dim;
  using family = Family;
  using pattern = pattern_name<Pattern>;
  using dual = GhostP<Dim, Family, Pattern>;
};

/// The dual of Ghost: sums into the owned entries and into the halo, to be folded by their owners.
template <int Dim, ShardFamily Family, fixed_string Pattern>
struct GhostP {
  static constexpr placement_kind kind = placement_kind::ghost_partial;
  static constexpr int dim = Dim;
  using family = Family;
  using pattern = pattern_name<Pattern>;
  using dual = Ghost<Dim, Family, Pattern>;
};

namespace detail {
/// A shard with the halo of this name, and the shard inside of a halo. Others stay: their steps are refused.
template <class P, fixed_string Pattern>
constexpr auto ghost_beside() {
  if constexpr (P::kind == placement_kind::shard)
    return std::type_identity<Ghost<P::dim, typename P::family, Pattern>>{};
  else
    return std::type_identity<P>{};
}
template <class P>
constexpr auto shard_inside() {
  if constexpr (P::kind == placement_kind::ghost || P::kind == placement_kind::ghost_partial)
    return std::type_identity<Shard<P::dim, typename P::family>>{};
  else
    return std::type_identity<P>{};
}
template <class P, fixed_string Pattern>
using ghost_of = typename decltype(ghost_beside<P, Pattern>())::type;
template <class P>
using shard_of = typename decltype(shard_inside<P>())::type;
} // namespace detail

/// What stands in a `distributed<Local, Mesh, ...>`, once per mesh axis.
template <class P>
concept Placement = requires {
  placement_kind{P::kind};
  typename P::dual;
};

/// A list of placements, one per mesh axis.
template <class... P>
struct placements {};

/// Does the placement shard a dimension over the ranks?
constexpr bool is_sharded(placement_kind kind) { return kind >= placement_kind::shard; }

/// Do all ranks hold the same value?
constexpr bool is_copied(placement_kind kind) {
  return kind == placement_kind::replicate || kind == placement_kind::invariant;
}

/// The placement of the gradient. Errors: a reduction other than a sum has no dual.
template <Placement P>
struct dual_of {
  static_assert(!std::is_same_v<typename P::dual, no_dual>,
                "sla: only a pending sum is differentiable: Partial<Max> and its like have no dual; reduce the value "
                "(all_reduce) before the differentiated part, or use a sum");
  using type = std::conditional_t<std::is_same_v<typename P::dual, no_dual>, P, typename P::dual>; // one error
};
/// The placement of the cotangent of a value with placement P.
template <Placement P>
using dual_t = typename dual_of<P>::type;

} // namespace sla
