// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Single-dimension strategies: all ways to split one operation over the ranks of one mesh axis, as rules with
// placeholders for the family. Tables are in spmd/rule/table/, the decision for given operands in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/rule/table/op_rule.hpp>

namespace sla {

/// The most results of an operation.
inline constexpr int max_results = 4;
/// The most rules of one strategy.
inline constexpr int max_rules = 32;

/// What a rule wants of one operand, or says of one result, along the axis.
enum class slot_kind : std::int8_t {
  replicate,    ///< whole on every rank
  shard,        ///< sharded along `dim`, by whichever family: the placeholder
  partial,      ///< a pending reduction with `fold`
  rows,         ///< a sparse operand sharded by rows, or
  columns,      ///< by columns, or
  entries,      ///< by entries
  ghost,        ///< a shard with the halo that the sparse operand's entries name
  ghost_partial ///< its dual
};

/// Monoids as bits.
using monoid_set = std::uint8_t;
/// The set of this monoid.
constexpr monoid_set monoid_bit(monoid m) { return static_cast<monoid_set>(1U << static_cast<int>(m)); }
inline constexpr monoid_set sum_monoids = monoid_bit(monoid::sum) | monoid_bit(monoid::average); ///< sum and average
inline constexpr monoid_set extremum_monoids = monoid_bit(monoid::maximum) | monoid_bit(monoid::minimum); ///< maximum and minimum
inline constexpr monoid_set other_monoids = extremum_monoids | monoid_bit(monoid::product); ///< all but sum and average
inline constexpr monoid_set all_monoids = sum_monoids | other_monoids; ///< every monoid
/// Folding equal values with these changes nothing.
inline constexpr monoid_set idempotent_monoids = extremum_monoids | monoid_bit(monoid::average);
/// Is m in the set?
constexpr bool has_monoid(monoid_set set, monoid m) { return set >> static_cast<int>(m) & 1; }

/// A set of operands as bits; `operand_bits(0, 2)`.
template <class... Int>
constexpr std::uint8_t operand_bits(Int... k) {
  return static_cast<std::uint8_t>((0U | ... | (1U << k)));
}

/// What a kernel is handed: its part alone, or also where that part stands, so that it divides by the extent of the whole and leaves out
/// (or makes zero) what other ranks hold. Some rules hold for the second kind only, and no table has them unasked.
enum class kernel_knows : std::uint8_t { its_part, its_place };

/// What a rule wants of one operand, or says of one result.
struct slot {
  slot_kind kind = slot_kind::replicate;
  std::int8_t dim = -1;       ///< of shard, ghost and ghost_partial: the dimension of this operand
  monoid fold = monoid::none; ///< of partial; none: the placeholder for one of the rule's `folds`
  std::int8_t partition = 0;  ///< slots of one number are sharded by one family: 0 rows (or the only one), 1 columns
  std::int64_t even = 0;      ///< not 0: only equal pieces that may be merged, and as many as divide this number
  constexpr bool operator==(slot const&) const = default;
};

/// The slot of a shard of dimension `dim`.
constexpr slot shard_slot(int dim, int partition = 0) {
  return {slot_kind::shard, static_cast<std::int8_t>(dim), monoid::none, static_cast<std::int8_t>(partition)};
}
/// The slot of a partial value; without a monoid, a placeholder for one of the rule's folds.
constexpr slot partial_slot(monoid fold = monoid::none) { return {slot_kind::partial, -1, fold}; }

/// The communication that an operation does by itself along an axis; all other communication is a named collective.
enum class communication : std::uint8_t { none, halo, reverse_halo, halo_and_back, all_reduce, solver };

/// One way to split the operation. Theorem: a sound rule splits one index, and its placeholders are all places where
/// that index occurs; so filling them with one family is right for every family.
struct rule {
  fixed_array<slot, max_operands> in{};
  fixed_array<slot, max_results> out{};
  monoid_set folds = 0;   ///< partial slots without a fold: the rule holds for each of these, the same in all slots
  std::uint8_t mixes = 0; ///< partial operands that may be replicated if another is partial and the fold is idempotent
  communication implied = communication::none;
  constexpr bool operator==(rule const&) const = default;
};

/// What the result is where no rule with shards decides.
enum class result_basis : std::uint8_t {
  operands, ///< the common placement of the operands
  constant, ///< Replicate: the values of the operands do not matter, only their shapes
  random,   ///< untyped: ranks may draw different numbers
  drawn     ///< the same, by what the operands say: they may not be pending
};

/// All rules of an operation on operands of given dimensions, in order of preference. That all operands are replicated
/// (or all invariant, or some varying and the rest replicated) is implied and not stated.
struct strategy {
  fixed_array<rule, max_rules> rules{};
  int size = 0;
  int inputs = 0, results = 1;
  fixed_array<std::int8_t, max_results> result_rank{};
  fixed_array<std::int8_t, max_results> result_batch{{-1, -1, -1, -1}}; ///< of sparse results, as in `tensor_placement`
  /// Sets of operands in which the operation is jointly linear while the others are fixed; `linear_in` states them.
  fixed_array<std::uint8_t, max_operands> linear{};
  int groups = 0;
  std::uint8_t stationary = 0; ///< operands that no plan moves
  result_basis basis = result_basis::operands;
  bool differentiable = true; ///< false: no operand receives a gradient from this operation
  bool sparse = false;        ///< a product or map of sparse operands: refusals say so
  bool known = true;

  constexpr strategy& add(rule const& r) {
    rules[size++] = r;
    return *this;
  }
  /// Does a rule ask how many equal pieces all axes together make of a dimension?
  constexpr bool counts_pieces() const {
    bool any = false;
    for (int n = 0; n < size; ++n)
      for (int k = 0; k < inputs; ++k) any = any || rules[n].in[k].even;
    return any;
  }

  /// One pending reduction of each of `folds` passes through the operands of `group`, all of them at once, to all
  /// results; the other operands are replicated. For idempotent reductions some of the group may be replicated too.
  constexpr strategy& passes(std::uint8_t group, monoid_set folds, bool mixed = true) {
    rule r;
    for (int k = 0; k < inputs; ++k)
      if (group >> k & 1) r.in[k] = partial_slot();
    for (int n = 0; n < results; ++n) r.out[n] = partial_slot();
    r.folds = folds;
    r.mixes = mixed && (group & (group - 1)) ? group : std::uint8_t{0};
    return add(r);
  }

  /// The operation is jointly linear in the operands of this group: sums (and averages) pass through it.
  constexpr strategy& linear_in(std::uint8_t group, monoid_set also = 0) {
    linear[groups++] = group;
    return passes(group, static_cast<monoid_set>(sum_monoids | also));
  }
  /// Nondecreasing in operand k, whatever the (replicated) others are: a pending maximum stays one.
  constexpr strategy& rising_in(int k, monoid_set folds = extremum_monoids) { return passes(operand_bits(k), folds); }
  /// Nonincreasing in operand k: a pending maximum becomes a pending minimum, and the reverse.
  constexpr strategy& falling_in(int k) {
    for (auto from : {monoid::maximum, monoid::minimum}) {
      rule r;
      r.in[k] = partial_slot(from);
      r.out[0] = partial_slot(from == monoid::maximum ? monoid::minimum : monoid::maximum);
      add(r);
    }
    return *this;
  }
};

namespace strategies {
/// No strategy at all: calls are refused for it (E21).
constexpr strategy unknown() {
  strategy s;
  s.known = false;
  return s;
}
/// An operation of which only the arity is known: its operands are replicated. `linear_in` states more.
template <class = void>
constexpr strategy opaque(int inputs, int rank = 0, int results = 1) {
  strategy s;
  s.inputs = inputs;
  s.results = results;
  for (int n = 0; n < results; ++n) s.result_rank[n] = static_cast<std::int8_t>(rank);
  return s;
}
} // namespace strategies

} // namespace sla
