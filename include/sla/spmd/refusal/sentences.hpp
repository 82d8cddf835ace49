// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sentence of every refusal, as one static_assert each, with the facts as type names below it. C++20 wants a
// literal there: the first clause of each stands in spmd/refusal/words.hpp too, for explain_error. Who refuses is in
// spmd/refusal/diagnose.hpp.
#pragma once

#include <sla/spmd/placement/placement_values.hpp>

namespace sla::detail {

/// Never true; its name and arguments are what a refusal prints.
template <class Facts>
inline constexpr bool placements_allow = false;

constexpr bool is_about_steps(code why) {
  return (why >= code::reduction_of_replicate && why <= code::sparse_layouts_differ && why != code::different_meshes) ||
         why == code::indivisible || (why >= code::reduction_over_ghosts && why <= code::reinterpreted_shard);
}

/// One error with one sentence; afterwards everything is well formed. Operands that do not go together: E01 to E09.
template <code Why, class Facts>
requires(Why < code::reduction_of_replicate) constexpr void refuse() {
  if constexpr (Why == code::invariant_with_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E01]: Invariant meets Replicate or Partial: the values agree, but the gradient of the first "
                  "counts one rank and that of the others all of them. Write convert<axis, Replicate>(i)");
  else if constexpr (Why == code::invariant_with_varying)
    static_assert(placements_allow<Facts>,
                  "sla[E02]: Invariant meets values that differ between ranks (Varying, Shard): its gradient would need "
                  "a sum over the axis that nothing performs. Write convert<axis, Replicate>(i); if the other is a "
                  "shard of the same tensor, convert<axis, Shard<d>>(i)");
  else if constexpr (Why == code::partial_plus_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E03]: a pending sum (Partial) is added to a Replicate, which would be counted once per rank. "
                  "Write all_reduce<axis>(p) + r, or p + convert<axis, Partial<>>(r), which stays Partial");
  else if constexpr (Why == code::partial_plus_literal)
    static_assert(placements_allow<Facts>,
                  "sla[E04]: a number is added to a pending sum (Partial): it would be counted once per rank. Write "
                  "all_reduce<axis>(p) + 1.0; scaling, 2.0 * p, is fine");
  else if constexpr (Why == code::partial_times_partial)
    static_assert(placements_allow<Facts>,
                  "sla[E05]: a product of pending sums is not the pending sum of products. Reduce one factor: "
                  "all_reduce<axis>(p) * q, which is Partial");
  else if constexpr (Why == code::partial_with_varying)
    static_assert(placements_allow<Facts>,
                  "sla[E06]: a pending sum (Partial) meets values that differ between ranks (Varying, Shard). Write "
                  "all_reduce<axis>(p), or reduce_scatter<axis, Shard<d>>(p) if the other is a shard; if you meant the "
                  "Varying as this rank's contribution, reinterpret<axis, Partial<>>(v)");
  else if constexpr (Why == code::nonlinear_in_partial)
    static_assert(placements_allow<Facts>,
                  "sla[E07]: this operation is not additive, so it cannot be applied to the parts of a pending "
                  "reduction (Partial). Apply it to all_reduce<axis>(p), or to reduce_scatter<axis, Shard<d>>(p) for "
                  "half the traffic; of a pending maximum or minimum not even a multiple is one, for a factor may be negative");
  else if constexpr (Why == code::nonlinear_argument)
    static_assert(placements_allow<Facts>,
                  "sla[E08]: this operand may not be a pending sum (Partial): a quotient is linear in its numerator "
                  "only, a solve in its right-hand side only. Write all_reduce<axis>(p) there");
  else
    static_assert(placements_allow<Facts>,
                  "sla[E09]: the product is a pending sum (Partial), and what is added to it is not: it would be "
                  "counted once per rank. Write convert<axis, Partial<>>(c) for the summand, which is free, or add it "
                  "after all_reduce<axis>(product)");
}

/// Transitions that are right but rarely meant: what is meant instead.
template <placement_kind From, placement_kind To, class Facts>
constexpr void refuse_without_insisting() {
  using kind = placement_kind;
  if constexpr (From == kind::replicate && To == kind::invariant)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: an Invariant out of a Replicate takes its "
                  "gradient from rank 0 alone. Make it by all_reduce<axis, Invariant> where the value is made. To "
                  "insist, pass the tag sla::expert");
  else if constexpr (From == kind::replicate && To == kind::partial)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: a Replicate reinterpreted as a pending sum is "
                  "multiplied by the number of ranks; convert<axis, Partial<>>(r) keeps the value. To insist, pass the "
                  "tag sla::expert");
  else if constexpr (From == kind::replicate && To == kind::varying)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: the copies become values of no one tensor; "
                  "convert<axis, Shard<d>>(r) takes each rank's part. To insist, pass the tag sla::expert");
  else if constexpr (From == kind::invariant && To == kind::replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: convert<axis, Replicate>(i) says the same and "
                  "keeps the value by its name. To insist, pass the tag sla::expert");
  else if constexpr (From == kind::invariant)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: all ranks but one would hold zeros of a value "
                  "that each of them has; convert<axis, Replicate>(i) keeps it. To insist, pass the tag sla::expert");
  else
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: each part would be padded with zeros to the "
                  "size of the whole, to be summed later; all_gather<axis>(x) is cheaper. To insist, pass the tag "
                  "sla::expert");
}

/// A loss that is not one number of all ranks of an axis: E25, by what the ranks hold.
template <placement_kind Held, class Facts>
constexpr void refuse_loss() {
  using kind = placement_kind;
  if constexpr (Held == kind::replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E25]: the loss is neither a pending sum nor Invariant along an axis (below): the gradient of a "
                  "Replicate would be counted once per rank. Write convert<axis, Partial<>>(loss), which keeps the value, "
                  "or return the pending sum of dot, sum or squared_norm without its all_reduce");
  else if constexpr (Held == kind::varying)
    static_assert(placements_allow<Facts>,
                  "sla[E25]: the loss is neither a pending sum nor Invariant along an axis (below): of a Varying each "
                  "rank has a number of its own, and none is the one to differentiate. Write reinterpret<axis, "
                  "Partial<>>(loss), if their sum is meant");
  else
    static_assert(placements_allow<Facts>,
                  "sla[E25]: the loss is neither a pending sum nor Invariant along an axis (below): another pending "
                  "reduction has no gradient. Return a pending sum: dot, sum or squared_norm");
}

/// Collectives, conversions and layouts: E10 to E19, E30, E32 to E34.
template <code Why, class Facts>
requires(is_about_steps(Why)) constexpr void refuse() {
  if constexpr (Why == code::reduction_of_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E10]: the ranks hold no contributions: a Replicate or Invariant is complete (summing it would "
                  "multiply it by the number of ranks), and a Varying has no stated sum. Remove the call; if each rank "
                  "holds a contribution, say so: reinterpret<axis, Partial<>>(x)");
  else if constexpr (Why == code::wrong_collective)
    static_assert(placements_allow<Facts>,
                  "sla[E11]: this collective does not fit what the ranks hold: all_reduce and reduce_scatter finish a "
                  "Partial, all_gather joins shards, all_to_all shards another dimension, halo_exchange takes a "
                  "Shard to a Ghost of its family, halo_reduce a GhostP back");
  else if constexpr (Why == code::local_conversion)
    static_assert(placements_allow<Facts>,
                  "sla[E12]: no conversion without communication leads there: a Partial needs all_reduce or "
                  "reduce_scatter, a Shard needs all_gather or all_to_all, and Invariant is read as Replicate first");
  else if constexpr (Why == code::unprovable_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E13]: nothing proves that the ranks hold equal values. Write all_gather<axis>(v) if they are "
                  "pieces; if they are contributions, all_reduce<axis>(reinterpret<axis, Partial<>>(v))");
  else if constexpr (Why == code::expert_only)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: a cheaper or clearer form exists. To insist, "
                  "pass the tag sla::expert");
  else if constexpr (Why == code::not_innermost)
    static_assert(placements_allow<Facts>,
                  "sla[E16]: another axis shards the same dimension further inside: this axis is not the innermost "
                  "one, and its pieces would interleave. Gather the inner axis first, then this one, and shard the inner "
                  "one again; copies are cut inside of the others, free: convert<axis, Shard<d, Even, 1>>(r)");
  else if constexpr (Why == code::layouts_differ)
    static_assert(placements_allow<Facts>,
                  "sla[E17]: the operands are not sharded alike, and no operation redistributes by itself. Write "
                  "convert<axis, Shard<d>>(r) for a Replicate (free), or all_gather<axis>(s)");
  else if constexpr (Why == code::unstated_partial)
    static_assert(placements_allow<Facts>,
                  "sla[E18]: the index that is summed over is sharded along the axis, so the result is a pending sum, "
                  "and this mesh wants that stated where it arises (or it is stated, and nothing is pending). Write "
                  "perform(out_partial<op::dot, axis>{}, x, y), or leave the promise explicit_partial out of the mesh; "
                  "then all_reduce or reduce_scatter");
  else if constexpr (Why == code::sparse_layouts_differ)
    static_assert(placements_allow<Facts>,
                  "sla[E19]: the vector does not match the partition of the sparse operand: rows, SparseShard<0, F>, "
                  "take x in Shard<0, F> (or Replicate for a product), columns, SparseShard<1, F>, take Shard<0, F>; a solve "
                  "takes b in D.row_layout(). Distribute it by the layout of the matrix, or all_gather<axis>(x)");
  else if constexpr (Why == code::indivisible)
    static_assert(placements_allow<Facts>,
                  "sla[E30]: this step needs equal pieces, and the ranks of the axis do not hold them, or do not divide the "
                  "extent. Shard the dimension by a family that takes any extent, Shard<d, Balanced>, for steps that "
                  "allow it; or gather it first");
  else if constexpr (Why == code::reduction_over_ghosts)
    static_assert(placements_allow<Facts>,
                  "sla[E32]: a reduction over a Ghost would count the halo twice. Drop the halo first: convert<axis, "
                  "Shard<d, F>>(x)");
  else if constexpr (Why == code::varying_with_shard)
    static_assert(placements_allow<Facts>,
                  "sla[E33]: a Varying meets a Shard: its ranks hold no parts of one tensor. Give it a meaning first: "
                  "all_gather<axis>(v), or reinterpret<axis, Partial<>>(v) and a reduction");
  else
    static_assert(placements_allow<Facts>,
                  "sla[E34]: a shard cannot be reinterpreted: that would lie about what the ranks hold. Write convert, "
                  "all_gather or reduce_scatter");
}

/// Programs around the operations: meshes, numbers, rules, seeds, specs: the other codes.
template <code Why, class Facts>
requires(Why >= code::reduction_of_replicate && !is_about_steps(Why)) constexpr void refuse() {
  if constexpr (Why == code::different_meshes)
    static_assert(placements_allow<Facts>,
                  "sla[E15]: the operands live on different meshes. Place both on one mesh; where the axes have the "
                  "same ranks, reinterpret_mesh says so without communication");
  else if constexpr (Why == code::narrow_reduction)
    static_assert(placements_allow<Facts>,
                  "sla[E20]: the backward pass would reduce gradients in a number of fewer than 32 bits, and nobody has "
                  "chosen that. Name the precision of the backward pass: bwd<wire<float>>");
  else if constexpr (Why == code::no_rule)
    static_assert(placements_allow<Facts>,
                  "sla[E21]: this operation has no placement rule. Specialise rule_of: template <> inline constexpr "
                  "sla::op_rule sla::rule_of<my_op> = {}; a composed rule takes all operands of the call, and uses each "
                  "of them or names it in rules::ignore");
  else if constexpr (Why == code::changed_in_place)
    static_assert(placements_allow<Facts>,
                  "sla[E22]: an update in place cannot change a placement, and the result has another one. Write auto z "
                  "= y + v, or bring the operands to the placement of the variable first");
  else if constexpr (Why == code::uneven_branch)
    static_assert(placements_allow<Facts>,
                  "sla[E23]: a branch on a value that may differ between ranks: their collectives would no longer match "
                  "(deadlock). Write all_reduce<axis>(p) < tol for a pending sum; for a Varying, all_of<axis>(v < tol) "
                  "or any_of<axis>(v < tol)");
  else if constexpr (Why == code::run_time_number)
    static_assert(placements_allow<Facts>,
                  "sla[E24]: a run-time number has no placement. Write uniform(alpha) if every rank has computed the "
                  "same one, or a literal");
  else if constexpr (Why == code::repeated_seed)
    refuse_loss<placement_kind::replicate, Facts>();
  else if constexpr (Why == code::reshaped_shard)
    static_assert(placements_allow<Facts>,
                  "sla[E26]: the reshape splits, merges or drops a dimension that is sharded. Redistribute first: "
                  "all_gather<axis>(x), or shard the outermost factor only, by equal pieces");
  else if constexpr (Why == code::overlapping_axes)
    static_assert(placements_allow<Facts>,
                  "sla[E27]: axes of a mesh are not jointly orthogonal: they share ranks, or do not flatten into one. "
                  "Name axes of one mesh, each once, with strides that clear what the axes of smaller strides reach");
  else if constexpr (Why == code::local_map_result)
    static_assert(placements_allow<Facts>,
                  "sla[E28]: what the function of local_map returns does not have the stated placements, or not as many "
                  "results. State outputs<...> as it is made; trust(f), for a function of plain tensors, believes what is "
                  "stated: a false Partial is a false sum");
  else if constexpr (Why == code::no_such_dimension)
    static_assert(placements_allow<Facts>,
                  "sla[E29]: the tensor has no such dimension to shard: Shard<d> counts (*batch, n) of a dense "
                  "tensor and the batch and block dimensions of a sparse one, whose rows and columns are SparseShard<0> "
                  "and SparseShard<1>; a spec has one entry per dimension and names an axis once");
  else if constexpr (Why == code::mixed_monoids)
    static_assert(placements_allow<Facts>,
                  "sla[E31]: two different reductions are pending (a sum beside a maximum, say), and they do not "
                  "commute. all_reduce one of them first");
  else if constexpr (Why == code::no_placement)
    static_assert(placements_allow<Facts>,
                  "sla[E35]: an operand has no placement (a plain tensor beside a distributed one). Distribute it "
                  "first: distribute(x, layout)");
  else if constexpr (Why == code::mixed_modes)
    static_assert(placements_allow<Facts>,
                  "sla[E36]: one collective over axes of which some are local and some global. Take one step for each "
                  "of them");
  else if constexpr (Why == code::wrong_seed)
    static_assert(placements_allow<Facts>,
                  "sla[E37]: the seed of a gradient has not the placements of the gradient, which are the duals of those "
                  "of the value: Partial for a Replicate, and the reverse. Make it a cotangent_t of the value");
  else
    static_assert(placements_allow<Facts>,
                  "sla[E38]: two rules of this operation give the same operands different results. Remove one of them");
}

} // namespace sla::detail
