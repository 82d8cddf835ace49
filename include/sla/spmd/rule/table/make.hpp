// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of what makes tensors: of the shape of another, from scalars, at random, in place. Their values do not
// come from the operands' values. Typed factories of a mesh are in dist/.
#pragma once

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::strategies {

/// Zeros, ones or a number in the shape of x. The kernel makes the local shape, so a shard gives a shard, and what is
/// whole or pending on every rank gives the same value on every rank.
constexpr strategy like(dims const& x) {
  auto s = pointwise(x);
  s.basis = result_basis::constant;
  s.differentiable = false;
  return s;
}

/// Zeros, ones or a number of stated extents; x lends only its type.
constexpr strategy constant(int inputs, int rank) {
  auto s = opaque(inputs, rank);
  s.basis = result_basis::constant;
  return s;
}

/// Random or uninitialised entries of the shape of x: ranks may draw different numbers, so the result has no placement
/// before somebody states one.
constexpr strategy random(int inputs, int rank = 0) {
  auto s = opaque(inputs, rank);
  s.basis = result_basis::random;
  return s;
}

/// Draws that the operands' values govern (Bernoulli, dropout, integers below a bound): parts of a pending reduction are
/// no probabilities and no bounds.
constexpr strategy drawn_by(int inputs, int rank = 0) {
  auto s = opaque(inputs, rank);
  s.basis = result_basis::drawn;
  return s;
}

/// arange, linspace, full, eye from scalars: what varies makes a varying tensor, and nothing pending passes.
constexpr strategy from_scalars(int inputs, int rank) { return opaque(inputs, rank); }

/// x = 0 in place: every pending reduction of zeros is zero.
constexpr strategy zero_in_place(dims const& x) { return pointwise(x).passes(operand_bits(0), all_monoids); }
/// x = c in place: the fold of equal numbers must be that number.
constexpr strategy fill_in_place(dims const& x) { return pointwise(x).passes(operand_bits(0), idempotent_monoids); }

/// x = y in place, as (x, y): a move of y into a place of the same placement; what every rank has is also its average,
/// its maximum and its minimum.
constexpr strategy copy_in_place(dims const& x, dims const& y) {
  auto s = pointwise(x, y).passes(operand_bits(0, 1), all_monoids, false);
  s.rules[s.size - 1].mixes = operand_bits(1);
  return s;
}

} // namespace sla::strategies
