// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules: which placements an operation accepts, and the placement of its result, decided for each mesh axis by
// functions on values. Collectives are in spmd/transition.hpp, the sentences of the refusals in spmd/diagnose.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/core/meta.hpp>
#include <sla/spmd/op_rule.hpp>
#include <sla/spmd/operand.hpp>
#include <sla/spmd/strategy.hpp>
#include <sla/spmd/typing.hpp>

namespace sla {

/// The typing of a result and what its computation communicates on each axis, or the reason of a refusal.
struct outcome {
  typing type{};
  fixed_array<communication, max_mesh_axes> implied{};
  diagnostic why{};
  constexpr bool ok() const { return why.what == code::ok; }
};

namespace detail {

struct axis_outcome {
  placed at{};
  communication implied = communication::none;
  code why = code::ok;
  int operand = -1;
};
constexpr axis_outcome refuse(code why, int k) { return {.why = why, .operand = k}; }

/// One axis on which no operand is sharded. The order of the tests decides which refusal is reported.
constexpr axis_outcome infer_local(op_rule const& rule, std::span<operand const> operands, int axis) {
  using kind = placement_kind;
  int r = 0, i = 0, v = 0, p = 0, weak = 0, free = 0, last_i = -1, last_p = -1, bad_argument = -1, n = 0;
  monoid fold = monoid::none;
  bool mixed = false;
  for (auto const& o : operands) {
    auto const at = o.type.on[axis];
    if (o.weak)
      ++weak;
    else if (!o.gradient && (at.kind == kind::replicate || at.kind == kind::invariant))
      ++free;
    else if (at.kind == kind::invariant)
      ++i, last_i = n;
    else if (at.kind == kind::replicate)
      ++r;
    else if (at.kind == kind::varying)
      ++v;
    else if (at.kind == kind::partial) {
      mixed = mixed || (p > 0 && fold != at.fold);
      fold = at.fold;
      ++p, last_p = n;
      if (rule.nonlinear_arguments >> n & 1) bad_argument = n;
    }
    ++n;
  }
  if (i && v) return refuse(code::invariant_with_varying, last_i);
  if (i && (r || p)) return refuse(code::invariant_with_replicate, last_i);
  if (i) return {.at = {kind::invariant}};
  if (!p) return {.at = {v ? kind::varying : kind::replicate}};
  if (v) return refuse(code::partial_with_varying, last_p);
  if (mixed) return refuse(code::mixed_monoids, last_p);
  if (bad_argument >= 0) return refuse(code::nonlinear_argument, bad_argument);
  placed const passed{kind::partial, fold};
  bool const is_sum = fold == monoid::sum || fold == monoid::average;
  if (!is_sum || rule.linear == linearity::none) { // max of a pending max is a pending max, and so on
    bool const same = !is_sum && p == 1 && operands.size() == 1 && fold == rule.contraction && !rule.finishes;
    return same ? axis_outcome{.at = passed} : refuse(code::nonlinear_in_partial, last_p);
  }
  if (rule.linear == linearity::joint) {
    if (r || free) return refuse(code::partial_plus_replicate, last_p);
    if (weak) return refuse(code::partial_plus_literal, last_p);
    return {.at = passed};
  }
  return p == 1 ? axis_outcome{.at = passed} : refuse(code::partial_times_partial, last_p);
}

/// A letter for every dimension: equal letters are one index. -1: no such dimension.
using letters = fixed_array<std::int8_t, max_dims>;
struct subscripts {
  fixed_array<letters, max_operands> in{};
  letters out{};
  int out_rank = 0, out_batch = -1;
};
// Elementwise operations and batch dimensions count from 0; a matrix has rows, columns, and those of its blocks.
inline constexpr std::int8_t row_letter = 16, column_letter = 17, block_row_letter = 18, block_column_letter = 19, right_hand_side_letter = 20;

constexpr subscripts subscripts_of(op_rule const& rule, std::span<operand const> operands) {
  subscripts s;
  for (int k = 0; k < max_operands; ++k)
    for (int d = 0; d < max_dims; ++d) s.in[k][d] = s.out[d] = -1;
  int const count = static_cast<int>(operands.size());
  if (rule.indices == indexing::elementwise || rule.indices == indexing::reduction) {
    int lead = 0; // the operand of most dimensions; the others are aligned with its last ones
    for (int k = 1; k < count; ++k)
      if (operands[static_cast<std::size_t>(k)].type.rank > operands[static_cast<std::size_t>(lead)].type.rank)
        lead = k;
    auto const& full = operands[static_cast<std::size_t>(lead)].type;
    for (int k = 0; k < count; ++k) {
      int const rank = operands[static_cast<std::size_t>(k)].type.rank;
      for (int d = 0; d < rank; ++d) s.in[k][d] = static_cast<std::int8_t>(full.rank - rank + d);
    }
    if (rule.indices == indexing::reduction) return s;
    for (int d = 0; d < full.rank; ++d) s.out[d] = static_cast<std::int8_t>(d);
    s.out_rank = full.rank;
    s.out_batch = full.batch;
    return s;
  }
  // A: (*batch, row, column, [p, q]) with x: (*batch, column, [q], [k]) and y: (*batch, row, [p], [k]).
  auto const &A = operands[0].type, &x = operands[1].type;
  int const batch = A.batch < 0 ? A.rank - 2 : A.batch;
  bool const blocked = A.rank > batch + 2;
  bool const from_columns = rule.indices == indexing::matvec;
  for (int d = 0; d < batch; ++d) s.in[0][d] = s.in[1][d] = s.out[d] = static_cast<std::int8_t>(d);
  std::int8_t const of_A[] = {row_letter, column_letter, block_row_letter, block_column_letter};
  for (int d = batch; d < A.rank; ++d) s.in[0][d] = of_A[d - batch];
  int d = batch;
  s.in[1][d] = from_columns ? column_letter : row_letter;
  s.out[d++] = from_columns ? row_letter : column_letter;
  if (blocked) {
    s.in[1][d] = from_columns ? block_column_letter : block_row_letter;
    s.out[d++] = from_columns ? block_row_letter : block_column_letter;
  }
  if (x.rank > d) s.in[1][d] = s.out[d] = right_hand_side_letter;
  s.out_rank = x.rank;
  return s;
}

constexpr int position(letters const& all, std::int8_t letter) {
  for (int d = 0; d < max_dims; ++d)
    if (all[d] == letter) return d;
  return -1;
}

/// A sparse operand dealt out by rows or columns, and a vector in the matching partition: the rows that a rank owns
/// need entries of others (halo), or make contributions to them (reverse halo). Undecided: code no_rule.
constexpr axis_outcome infer_by_rows(op_rule const& rule, subscripts const& s, placed A, operand const& x, int axis) {
  using kind = placement_kind;
  auto const at = x.type.on[axis];
  bool const matching = at.family == A.family && (at.kind == kind::shard || at.kind == kind::ghost) &&
                        s.in[1][at.dim] == (rule.indices == indexing::matvec ? column_letter : row_letter);
  if (A.kind != kind::sparse_shard || A.dim != 0 || !matching) return refuse(code::no_rule, 1);
  bool const ghosts = at.kind == kind::ghost;
  if (ghosts && rule.indices != indexing::matvec) return refuse(code::no_rule, 1);
  for (int b = 0; b < x.type.axes; ++b) // whoever exchanges a halo must own whole entries
    if (b != axis && is_sharded(x.type.on[b].kind) && x.type.on[b].dim == at.dim) return refuse(code::not_innermost, 1);
  auto const made = rule.indices == indexing::matvec ? row_letter : column_letter;
  placed const result{kind::shard, monoid::none, static_cast<std::int8_t>(position(s.out, made)), A.family};
  if (rule.indices == indexing::solve) return {.at = result, .implied = communication::solver};
  if (rule.indices == indexing::transposed_matvec) return {.at = result, .implied = communication::reverse_halo};
  return {.at = result, .implied = ghosts ? communication::none : communication::halo};
}

/// One axis on which some operand is sharded. A rule splits one index, wherever that index occurs: then each rank does
/// the operation for its part of the index, and the parts are concatenated, or folded if the result lacks the index.
constexpr axis_outcome infer_sharded(op_rule const& rule, subscripts const& s, std::span<operand const> operands,
                                     int axis) {
  using kind = placement_kind;
  bool const sparse = rule.indices >= indexing::matvec;
  auto const differ = sparse ? code::sparse_layouts_differ : code::layouts_differ;
  int lead = -1, n = 0, other = -1;
  std::int8_t letter = -1;
  placed dealt{};
  for (auto const& o : operands) { // what never meets a shard
    auto const at = o.type.on[axis];
    if (!o.weak) {
      if (at.kind == kind::invariant && o.gradient) return refuse(code::invariant_with_varying, n);
      if (at.kind == kind::varying) return refuse(code::varying_with_shard, n);
      if (at.kind == kind::partial) return refuse(code::partial_with_varying, n);
      if (at.kind == kind::ghost_partial) return refuse(code::sparse_layouts_differ, n);
    }
    ++n;
  }
  if (sparse) {
    auto const by_rows = infer_by_rows(rule, s, operands[0].type.on[axis], operands[1], axis);
    if (by_rows.why != code::no_rule) return by_rows;
  }
  n = 0;
  for (auto const& o : operands) {
    auto const at = o.type.on[axis];
    if (!o.weak && is_sharded(at.kind)) {
      auto const mine = s.in[n][dealt_dim(at, o.type)];
      if (lead < 0) {
        lead = n;
        letter = mine;
        dealt = at;
      } else if (mine != letter || at.family != dealt.family || at.pattern != dealt.pattern) {
        other = n;
      }
    }
    ++n;
  }
  n = 0;
  for (auto const& o : operands) { // who has the index must have its part of it
    if (!o.weak && !is_sharded(o.type.on[axis].kind) && position(s.in[n], letter) >= 0) other = n;
    ++n;
  }
  if (other >= 0) return refuse(differ, other);
  if (dealt.kind == kind::ghost && sparse) return refuse(differ, lead);
  bool const additive = rule.indices != indexing::solve || letter < row_letter || letter == right_hand_side_letter;
  int const to = position(s.out, letter);
  if (to >= 0 && additive) {
    placed at = dealt;
    bool const row_or_column = s.out_batch >= 0 && (to == s.out_batch || to == s.out_batch + 1);
    if (at.kind != kind::ghost) at.kind = row_or_column ? kind::sparse_shard : kind::shard;
    at.dim = static_cast<std::int8_t>(row_or_column ? to - s.out_batch : to);
    return {.at = at};
  }
  if (dealt.kind == kind::ghost) return refuse(code::reduction_over_ghosts, lead);
  if (!additive || rule.contraction == monoid::none) return refuse(differ, lead);
  if (rule.finishes) return {.at = {kind::replicate}, .implied = communication::all_reduce};
  return {.at = {kind::partial, rule.contraction}};
}

} // namespace detail

/// The typing of `op(operands...)`, or why there is none. A pure function: tests are loops over it.
/// Law: every axis is decided alone; no operation chooses communication beyond `outcome::implied`.
constexpr outcome check(op_rule const& rule, std::span<operand const> operands) {
  outcome out;
  if (!rule.known) return out.why.what = code::no_rule, out;
  int axes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].type.axes > axes) axes = operands[k].type.axes;
    auto why = check_placements(operands[k].type);
    if (why.what != code::ok) return why.operand = static_cast<std::int8_t>(k), out.why = why, out;
  }
  auto const s = detail::subscripts_of(rule, operands);
  out.type.axes = static_cast<std::int8_t>(axes);
  out.type.rank = static_cast<std::int8_t>(s.out_rank);
  out.type.batch = static_cast<std::int8_t>(s.out_batch);
  for (int a = 0; a < axes; ++a) {
    bool sharded = false;
    for (auto const& o : operands) sharded = sharded || (!o.weak && is_sharded(o.type.on[a].kind));
    auto const one = sharded ? detail::infer_sharded(rule, s, operands, a) : detail::infer_local(rule, operands, a);
    if (one.why != code::ok) {
      out.why = {one.why, static_cast<std::int8_t>(a), static_cast<std::int8_t>(one.operand)};
      return out;
    }
    out.type.on[a] = one.at;
    out.implied[a] = one.implied;
  }
  return out;
}

} // namespace sla
