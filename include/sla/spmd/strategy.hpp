// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Single-dimension strategies: all ways to split one operation over the ranks of one mesh axis, as rules with
// placeholders for the family. Tables are in spmd/strategies/, the decision for given operands in spmd/rules.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/op_rule.hpp>
#include <sla/spmd/typing.hpp>

namespace sla {

inline constexpr int max_results = 4;
inline constexpr int max_rules = 48;

/// What a rule wants of one operand, or says of one result, along the axis.
enum class slot_kind : std::int8_t {
  replicate,    ///< whole on every rank
  shard,        ///< dealt out along `dim`, by whichever family: the placeholder
  partial,      ///< a pending reduction with `fold`
  rows,         ///< a sparse operand dealt out by rows, or
  columns,      ///< by columns, or
  entries,      ///< by entries
  ghost,        ///< a shard with the halo that the sparse operand's entries name
  ghost_partial ///< its dual
};

struct slot {
  slot_kind kind = slot_kind::replicate;
  std::int8_t dim = -1;        ///< of shard, ghost and ghost_partial: the dimension of this operand
  monoid fold = monoid::none;  ///< of partial
  std::int8_t partition = 0;   ///< slots of one number are dealt out by one family: 0 rows (or the only one), 1 columns
  bool even = false;           ///< only families whose pieces are equal
  constexpr bool operator==(slot const&) const = default;
};

/// One way to split the operation. Theorem: a sound rule splits one index, and its placeholders are all places where
/// that index occurs; so filling them with one family is right for every family.
struct rule {
  fixed_array<slot, max_operands> in{};
  fixed_array<slot, max_results> out{};
  constexpr bool operator==(rule const&) const = default;
};

/// All rules of an operation on operands of given dimensions, in order of preference. That all operands are replicated
/// (or all invariant) is implied and not stated.
struct strategy {
  fixed_array<rule, max_rules> rules{};
  int size = 0;
  int inputs = 0, results = 1;
  fixed_array<std::int8_t, max_results> result_rank{};
  linearity linear = linearity::none;
  std::uint32_t nonlinear_arguments = 0; ///< a bit per operand, as in op_rule
  bool known = true;

  constexpr strategy& add(rule const& r) {
    rules[size++] = r;
    return *this;
  }
};

} // namespace sla
