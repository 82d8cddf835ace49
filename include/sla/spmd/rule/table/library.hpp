// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The strategies of the library's own expressions: what an op_rule and the dimensions of its operands say, in rules.
// The strategies of other operations are in the files beside this one, the decision in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/op_rule.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {
namespace detail {

// Elementwise operations and batch dimensions count from 0; a matrix has rows, columns, and those of its blocks.
inline constexpr std::int8_t row_letter = 16, column_letter = 17, block_row_letter = 18, block_column_letter = 19,
                             right_hand_side_letter = 20;

template <class = void>
constexpr index_map subscripts_of(op_rule const& rule, std::span<operand const> operands) {
  index_map s;
  s.inputs = static_cast<int>(operands.size());
  for (int k = 0; k < s.inputs; ++k) s.in_batch[k] = operands[static_cast<std::size_t>(k)].type.batch;
  if (rule.indices == index_use::elementwise || rule.indices == index_use::reduction) {
    int lead = 0; // the operand of most dimensions; the others are aligned with its last ones
    for (int k = 1; k < s.inputs; ++k)
      if (operands[static_cast<std::size_t>(k)].type.rank > operands[static_cast<std::size_t>(lead)].type.rank)
        lead = k;
    auto const& full = operands[static_cast<std::size_t>(lead)].type;
    for (int k = 0; k < s.inputs; ++k) {
      int const rank = operands[static_cast<std::size_t>(k)].type.rank;
      for (int d = 0; d < rank; ++d) s.in[k][d] = static_cast<std::int8_t>(full.rank - rank + d);
    }
    if (rule.indices == index_use::reduction) return s;
    for (int d = 0; d < full.rank; ++d) s.out[0][d] = static_cast<std::int8_t>(d);
    s.out_rank[0] = full.rank;
    s.out_batch[0] = full.batch;
    return s;
  }
  // A: (*batch, row, column, [p, q]) with x: (*batch, column, [q], [k]) and y: (*batch, row, [p], [k]).
  auto const &A = operands[0].type, &x = operands[1].type;
  int const batch = A.batch < 0 ? A.rank - 2 : A.batch;
  bool const blocked = A.rank > batch + 2;
  bool const from_columns = rule.indices == index_use::matvec;
  for (int d = 0; d < batch; ++d) s.in[0][d] = s.in[1][d] = s.out[0][d] = static_cast<std::int8_t>(d);
  std::int8_t const of_A[] = {row_letter, column_letter, block_row_letter, block_column_letter};
  for (int d = batch; d < A.rank; ++d) s.in[0][d] = of_A[d - batch];
  int d = batch;
  s.in[1][d] = from_columns ? column_letter : row_letter;
  s.out[0][d++] = from_columns ? row_letter : column_letter;
  if (blocked) {
    s.in[1][d] = from_columns ? block_column_letter : block_row_letter;
    s.out[0][d++] = from_columns ? block_row_letter : block_column_letter;
  }
  if (x.rank > d) s.in[1][d] = s.out[0][d] = right_hand_side_letter;
  s.out_rank[0] = x.rank;
  return s;
}

/// Does some axis shard the columns? Then no rank has whole rows: x is whole along the rows' axis, or y is pending.
constexpr bool has_cut_rows(tensor_placement const& A) {
  for (int a = 0; a < A.axes; ++a)
    if (A.on[a].kind == placement_kind::sparse_shard && A.on[a].dim == 1) return true;
  return false;
}

/// A sparse operand sharded by rows, and a vector in the matching partition: the rows that a rank owns need entries
/// of others (halo), or make contributions to them (reverse halo).
template <class = void>
constexpr void add_rules_by_rows(strategy& out, op_rule const& rule, index_map const& s) {
  bool const from_columns = rule.indices == index_use::matvec;
  int const at = position(s.in[1], from_columns ? column_letter : row_letter);
  int const to = position(s.out[0], from_columns ? row_letter : column_letter);
  sla::rule r;
  r.in[0] = {slot_kind::rows};
  r.in[1] = shard_slot(at);
  r.out[0] = shard_slot(to);
  r.implied = from_columns                      ? communication::halo
              : rule.indices == index_use::solve ? communication::solver
                                                : communication::reverse_halo;
  out.add(r);
  auto by_entries = r; // a halo in, contributions to another one out
  by_entries.in[0] = {slot_kind::entries};
  if (rule.indices != index_use::solve) by_entries.implied = communication::halo_and_back;
  out.add(by_entries);
  if (!from_columns) return;
  r.in[1].kind = slot_kind::ghost;
  r.implied = communication::none;
  out.add(r);
}

/// A solve where no rank has whole rows. Columns: b and x lie as they do. Rows on another axis: b lies as the rows, x as the columns.
template <class = void>
constexpr void add_solve_of_columns(strategy& out, index_map const& s, tensor_placement const& A) {
  bool rows = false;
  for (int a = 0; a < A.axes; ++a) rows = rows || (A.on[a].kind == placement_kind::sparse_shard && A.on[a].dim == 0);
  slot const of_b = shard_slot(position(s.in[1], row_letter)), of_x = shard_slot(position(s.out[0], column_letter));
  sla::rule r;
  r.implied = communication::solver;
  r.in[0] = {slot_kind::columns}, r.in[1] = rows ? slot{} : of_b, r.out[0] = of_x;
  out.add(r);
  if (!rows) return;
  r.in[0] = {slot_kind::rows}, r.in[1] = of_b, r.out[0] = {};
  out.add(r);
}

} // namespace detail

/// The strategy of a library expression: one rule per index, and what its linearity lets pass.
template <class = void>
constexpr strategy strategy_of(op_rule const& rule, std::span<operand const> operands) {
  auto const s = detail::subscripts_of(rule, operands);
  bool const sparse = rule.indices >= index_use::matvec;
  strategy out;
  bool const cut = sparse && detail::has_cut_rows(operands[0].type);
  if (sparse && !cut) detail::add_rules_by_rows(out, rule, s);
  if (cut && rule.indices == index_use::solve) detail::add_solve_of_columns(out, s, operands[0].type);
  auto const by_index = detail::indexed(s, rule.contraction);
  out.inputs = by_index.inputs;
  out.result_rank = by_index.result_rank;
  out.result_batch = by_index.result_batch;
  out.sparse = sparse;
  out.known = rule.known;
  out.differentiable = rule.differentiable;
  for (int n = 0; n < by_index.size; ++n) {
    auto r = by_index.rules[n];
    bool const by_rows = rule.indices == index_use::transposed_matvec && r.in[0].kind == slot_kind::rows;
    if (by_rows && !cut && r.in[1].kind == slot_kind::shard)
      continue; // the contributions go to their owners, see above
    bool const folded = r.out[0].kind == slot_kind::partial;
    if (rule.indices == index_use::solve && r.in[0] != slot{}) { // the inverse mixes rows, and those of blocks
      auto const& A = operands[0].type;
      bool const of_batch = r.in[0].kind == slot_kind::shard && r.in[0].dim < (A.batch < 0 ? A.rank - 2 : A.batch);
      if (!of_batch) continue;
    }
    if (folded && rule.finishes) r.out[0] = {}, r.implied = communication::all_reduce;
    out.add(r);
  }
  bool any_sparse = false;
  for (auto const& o : operands) any_sparse = any_sparse || o.type.is_sparse();
  if (!sparse && any_sparse) { // entry by entry, whoever holds the entry
    sla::rule r;
    bool all = true;
    for (int k = 0; k < out.inputs; ++k) {
      auto const& t = operands[static_cast<std::size_t>(k)].type;
      if (t.is_sparse()) r.in[k].kind = slot_kind::entries;
      all = all && (t.is_sparse() || t.rank == 0);
    }
    bool const kept = rule.indices == index_use::elementwise;
    r.out[0] = kept ? slot{slot_kind::entries} : rule.finishes ? slot{} : partial_slot(rule.contraction);
    if (!kept && rule.finishes) r.implied = communication::all_reduce;
    if (all && (kept || rule.contraction != monoid::none)) out.add(r);
  }
  auto const everything = static_cast<std::uint8_t>((1U << out.inputs) - 1U);
  if (rule.linear == linearity::joint) out.linear_in(everything);
  if (rule.linear == linearity::separate)
    for (int k = 0; k < out.inputs; ++k)
      if (!(rule.nonlinear_arguments >> k & 1)) out.linear_in(operand_bits(k));
  bool const folds_further = out.inputs == 1 && !rule.finishes; // max of a pending max is a pending max, and so on
  if (folds_further && rule.contraction != monoid::none && !is_sum(rule.contraction))
    out.passes(everything, monoid_bit(rule.contraction));
  for (int k = 0; k < out.inputs; ++k) {
    if (rule.rising >> k & 1) out.rising_in(k, rule.bounded_domain ? monoid_bit(monoid::minimum) : extremum_monoids);
    if (rule.falling >> k & 1) out.falling_in(k);
  }
  return out;
}

} // namespace sla
