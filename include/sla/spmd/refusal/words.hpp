// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of messages as values: what codes, steps and monoids are called. The sentences that compilers print are in
// spmd/refusal/sentences.hpp, the message of a whole call in spmd/refusal/explain_error.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

/// The number of a code, as it is printed: 3 for E03; 0 for ok.
constexpr int number_of(code why) { return static_cast<int>(why); }

/// The rule that was broken: the first clause of the sentence of spmd/refusal/sentences.hpp.
template <class = void>
constexpr std::string_view rule_broken(code why) {
  constexpr std::string_view clauses[] = {
      "",
      "Invariant meets Replicate or Partial: the values agree, but the gradient of the first counts one rank and that "
      "of the "
      "others all of them",
      "Invariant meets values that differ between ranks (Varying, Shard): its gradient would need a sum over the axis "
      "that "
      "nothing performs",
      "a pending sum (Partial) is added to a Replicate, which would be counted once per rank",
      "a number is added to a pending sum (Partial): it would be counted once per rank",
      "a product of pending sums is not the pending sum of products",
      "a pending sum (Partial) meets values that differ between ranks (Varying, Shard)",
      "this operation is not additive, so it cannot be applied to the parts of a pending reduction (Partial)",
      "this operand may not be a pending sum (Partial): a quotient is linear in its numerator only, a solve in its "
      "right-hand "
      "side only",
      "the product is a pending sum (Partial), and what is added to it is not: it would be counted once per rank",
      "the ranks hold no contributions",
      "this collective does not fit what the ranks hold",
      "no conversion without communication leads there",
      "nothing proves that the ranks hold equal values",
      "this transition is right but rarely meant",
      "the operands live on different meshes",
      "another axis shards the same dimension further inside: this axis is not the innermost one, and its pieces "
      "would "
      "interleave",
      "the operands are not sharded alike, and no operation redistributes by itself",
      "the index that is summed over is sharded along the axis, so the result is a pending sum, and this mesh wants "
      "that "
      "stated where it arises (or it is stated, and nothing is pending)",
      "the vector does not match the partition of the sparse operand",
      "the backward pass would reduce gradients in a number of fewer than 32 bits, and nobody has chosen that",
      "this operation has no placement rule",
      "an update in place cannot change a placement, and the result has another one",
      "a branch on a value that may differ between ranks: their collectives would no longer match (deadlock)",
      "a run-time number has no placement",
      "the loss is neither a pending sum nor Invariant along an axis (below)",
      "the reshape splits, merges or drops a dimension that is sharded",
      "axes of a mesh are not jointly orthogonal",
      "what the function of local_map returns does not have the stated placements, or not as many results",
      "the tensor has no such dimension to shard",
      "this step needs equal pieces, and the ranks of the axis do not hold them, or do not divide the extent",
      "two different reductions are pending (a sum beside a maximum, say), and they do not commute",
      "a reduction over a Ghost would count the halo twice",
      "a Varying meets a Shard: its ranks hold no parts of one tensor",
      "a shard cannot be reinterpreted: that would lie about what the ranks hold",
      "an operand has no placement (a plain tensor beside a distributed one)",
      "one collective over axes of which some are local and some global",
      "the seed of a gradient has not the placements of the gradient",
      "two rules of this operation give the same operands different results"};
  static_assert(sizeof(clauses) / sizeof(clauses[0]) == static_cast<std::size_t>(code::ambiguous_rule) + 1);
  return clauses[number_of(why)];
}

/// The name of the function that takes a step.
template <class = void>
constexpr std::string_view name_of(step how) {
  constexpr std::string_view names[] = {"convert",        "reinterpret", "all_reduce",  "all_gather",
                                        "reduce_scatter", "all_to_all",  "repartition", "permute_shards",
                                        "halo_exchange",  "halo_reduce", "assemble",    "restrict_pattern"};
  static_assert(sizeof(names) / sizeof(names[0]) == step_count);
  return names[static_cast<int>(how)];
}

/// Does the step communicate?
constexpr bool is_free(step how) { return how == step::convert || how == step::reinterpret; }

/// The function that a program calls for a step: halos are dropped, cut out and laid into zeros by functions of their
/// own.
template <class = void>
constexpr std::string_view function_of(transition t) {
  using kind = placement_kind;
  if (t.how == step::convert && t.from.kind == kind::ghost) return "owned";
  if (t.how == step::convert && t.to.kind == kind::ghost) return "restrict_to";
  if (t.how == step::convert && t.from.kind == kind::ghost_partial) return "embed";
  return name_of(t.how);
}

/// What the call is given beside the operand: the matrix whose halo it is, or the layout of a partition found at run
/// time.
enum class step_companion : std::uint8_t { none, matrix, layout };
/// What a step wants beside the tensor: a matrix, a layout or nothing.
constexpr step_companion companion_of(transition t, bool found) {
  if (t.to.kind == placement_kind::ghost) return step_companion::matrix;
  bool const sharded = t.how == step::repartition || t.how == step::reduce_scatter || (t.how == step::convert && t.from.kind != placement_kind::ghost);
  return found && sharded ? step_companion::layout : step_companion::none;
}

} // namespace sla
