// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of sparse operations on A: (*batch, M, N, *block). Rows, columns and entries are three ways to shard A;
// partition 0 is that of the rows, 1 that of the columns. What `A * x` communicates by itself is in library.hpp.
#pragma once
#include <cstdint>

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {
namespace strategies {

/// The dimensions of a sparse operand and of the dense ones that it meets.
struct sparse_dims {
  int batch = 0;                ///< batch dimensions of A
  bool block = false;           ///< A has dense blocks (p, q)
  bool vector_has_batch = true; ///< or one vector serves all batches
  bool columns = false;         ///< X has right-hand sides: SpMM
};

} // namespace strategies

namespace detail {

namespace sparse_side { // numbers of the partitions of a sparse operand
inline constexpr int rows = 0, columns = 1, entries = 2;
}

constexpr slot sparse_slot(slot_kind kind, int partition) {
  slot s;
  s.kind = kind;
  s.partition = static_cast<std::int8_t>(partition);
  return s;
}
inline constexpr slot rows_slot = sparse_slot(slot_kind::rows, sparse_side::rows),
                      columns_slot = sparse_slot(slot_kind::columns, sparse_side::columns),
                      entries_slot = sparse_slot(slot_kind::entries, sparse_side::entries);
constexpr slot ghost_slot(int dim, int partition, bool pending = false) {
  slot s = shard_slot(dim, partition);
  s.kind = pending ? slot_kind::ghost_partial : slot_kind::ghost;
  return s;
}

/// A strategy without rules, whose stationary operands are sparse; so is the result, if it has so many batch dimensions.
constexpr strategy on_pattern(int inputs, std::uint8_t stationary, int rank, int batch = -1) {
  auto s = strategies::opaque(inputs, rank);
  s.sparse = true;
  s.stationary = stationary;
  s.result_batch[0] = static_cast<std::int8_t>(batch);
  return s;
}

constexpr rule rule_of_three(slot out, slot A, slot x, communication implied = communication::none) {
  rule r;
  r.in[0] = A, r.in[1] = x, r.out[0] = out, r.implied = implied;
  return r;
}

/// y = A x, or x = A^T y with the roles of rows and columns exchanged.
constexpr strategy sparse_product(strategies::sparse_dims const& d, bool transposed) {
  int const lead = d.batch, of_x = d.vector_has_batch ? lead : 0; // where x has its sparse dimension
  int const rank = lead + 1 + int{d.block} + int{d.columns};
  auto s = on_pattern(2, operand_bits(0), rank);
  int const own = transposed ? sparse_side::columns : sparse_side::rows;
  int const other = transposed ? sparse_side::rows : sparse_side::columns;
  slot const A_own = transposed ? columns_slot : rows_slot, A_other = transposed ? rows_slot : columns_slot;
  slot const whole{};
  for (int b = 0; b < d.batch; ++b)
    s.add(rule_of_three(shard_slot(b), shard_slot(b), d.vector_has_batch ? shard_slot(b) : whole));
  s.add(rule_of_three(shard_slot(lead, own), A_own, whole));
  s.add(rule_of_three(shard_slot(lead, own), A_own, ghost_slot(of_x, other)));
  s.add(rule_of_three(partial_slot(monoid::sum), A_other, shard_slot(of_x, other)));
  s.add(
      rule_of_three(ghost_slot(lead, other, true), entries_slot, ghost_slot(of_x, other))); // vectors share a partition
  if (d.block) {
    int const mine = lead + (transposed ? 3 : 2), theirs = lead + (transposed ? 2 : 3);
    s.add(rule_of_three(shard_slot(lead + 1), shard_slot(mine), whole));
    s.add(rule_of_three(partial_slot(monoid::sum), shard_slot(theirs), shard_slot(of_x + 1)));
  }
  if (d.columns) s.add(rule_of_three(shard_slot(rank - 1), whole, shard_slot(of_x + 1 + int{d.block})));
  return s.linear_in(operand_bits(0)).linear_in(operand_bits(1));
}

} // namespace detail

namespace strategies {

/// y = A x and Y = A X. Rows need x whole or with the halo of their columns; columns give a pending sum; entries need a
/// halo and give contributions to one.
constexpr strategy spmv(sparse_dims const& d = {}) { return detail::sparse_product(d, false); }
/// x = A^T y.
constexpr strategy spmv_transposed(sparse_dims const& d = {}) { return detail::sparse_product(d, true); }

/// The entries of U V^T on the pattern of A, as (pattern, U, V) with U: (*batch, M, [p], K) and V: (*batch, N, [q], K);
/// the gradient of the values of A is this without K. Linear in U and in V.
constexpr strategy sddmm(int batch = 0, bool contracted = true, bool block = false) {
  auto s = detail::on_pattern(3, operand_bits(0), batch + 2 + 2 * int{block}, batch);
  auto const add = [&](slot pattern, slot u, slot v, slot out) {
    rule r;
    r.in[0] = pattern, r.in[1] = u, r.in[2] = v, r.out[0] = out;
    s.add(r);
  };
  slot const u = shard_slot(batch, detail::sparse_side::rows), v = shard_slot(batch, detail::sparse_side::columns),
             whole{};
  for (int b = 0; b < batch; ++b) add(shard_slot(b), shard_slot(b), shard_slot(b), shard_slot(b));
  add(detail::rows_slot, u, whole, detail::rows_slot);
  add(detail::rows_slot, u, detail::ghost_slot(batch, detail::sparse_side::columns), detail::rows_slot);
  add(detail::columns_slot, whole, v, detail::columns_slot);
  add(detail::columns_slot, detail::ghost_slot(batch, detail::sparse_side::rows), v, detail::columns_slot);
  add(detail::entries_slot, detail::ghost_slot(batch, detail::sparse_side::rows),
      detail::ghost_slot(batch, detail::sparse_side::columns), detail::entries_slot);
  if (block) {
    slot const p = shard_slot(batch + 2), q = shard_slot(batch + 3), side = shard_slot(batch + 1);
    add(p, side, whole, p);
    add(q, whole, side, q);
  }
  int const k = batch + 1 + int{block};
  if (contracted) add(whole, shard_slot(k), shard_slot(k), partial_slot(monoid::sum));
  s.linear_in(operand_bits(1)).linear_in(operand_bits(2));
  return contracted ? s : s.passes(operand_bits(1, 2), monoid_bit(monoid::product), false);
}

/// The diagonal of A as a vector. Rows and columns of a square A share their partition here.
constexpr strategy diagonal(int batch = 0, bool block = false) {
  auto s = detail::on_pattern(1, operand_bits(0), batch + 1 + int{block});
  auto const add = [&](slot A, slot out) {
    rule r;
    r.in[0] = A, r.out[0] = out;
    s.add(r);
  };
  for (int b = 0; b < batch; ++b) add(shard_slot(b), shard_slot(b));
  add(detail::rows_slot, shard_slot(batch, detail::sparse_side::rows));
  add(detail::columns_slot, shard_slot(batch, detail::sparse_side::columns));
  return s.linear_in(operand_bits(0));
}

/// D A with a diagonal matrix as a vector (d, A), or A D with `of_columns`; d: (*batch, M, [p]) or (*batch, N, [q]).
constexpr strategy scale_rows(int batch = 0, bool of_columns = false, bool block = false) {
  auto s = detail::on_pattern(2, operand_bits(1), batch + 2 + 2 * int{block}, batch);
  auto const add = [&](slot d, slot A) {
    rule r;
    r.in[0] = d, r.in[1] = r.out[0] = A;
    s.add(r);
  };
  for (int b = 0; b < batch; ++b) add(shard_slot(b), shard_slot(b));
  slot const whole{};
  add(of_columns ? whole : shard_slot(batch, detail::sparse_side::rows), detail::rows_slot);
  add(of_columns ? shard_slot(batch, detail::sparse_side::columns) : whole, detail::columns_slot);
  if (of_columns) add(detail::ghost_slot(batch, detail::sparse_side::columns), detail::rows_slot);
  if (!of_columns) add(detail::ghost_slot(batch, detail::sparse_side::rows), detail::columns_slot);
  add(detail::ghost_slot(batch, of_columns ? detail::sparse_side::columns : detail::sparse_side::rows),
      detail::entries_slot);
  for (int q = 0; block && q < 2; ++q)
    add((q == 1) == of_columns ? shard_slot(batch + 1) : whole, shard_slot(batch + 2 + q));
  return s.linear_in(operand_bits(0))
      .linear_in(operand_bits(1))
      .passes(operand_bits(0, 1), monoid_bit(monoid::product), false);
}

/// A + B on one pattern, entry by entry: both are sharded alike.
constexpr strategy add_sparse(int batch = 0, bool block = false) {
  auto s = detail::on_pattern(2, operand_bits(0, 1), batch + 2 + 2 * int{block}, batch);
  auto const add = [&](slot A) {
    rule r;
    r.in[0] = r.in[1] = r.out[0] = A;
    s.add(r);
  };
  for (int b = 0; b < batch; ++b) add(shard_slot(b));
  add(detail::rows_slot);
  add(detail::columns_slot);
  add(detail::entries_slot);
  for (int q = 0; block && q < 2; ++q) add(shard_slot(batch + 2 + q));
  return s.linear_in(operand_bits(0, 1)).rising_in(0).rising_in(1);
}

} // namespace strategies

namespace detail {

/// What maps right-hand sides (*batch, M, [p], [k]) to the like: batches and columns split.
constexpr strategy map_of_right_hand_sides(strategies::sparse_dims const& d) {
  int const of_x = d.vector_has_batch ? d.batch : 0; // where b has its rows
  int const rank = d.batch + 1 + int{d.block} + int{d.columns};
  auto s = on_pattern(2, operand_bits(0), rank);
  for (int b = 0; b < d.batch; ++b)
    s.add(rule_of_three(shard_slot(b), shard_slot(b), d.vector_has_batch ? shard_slot(b) : slot{}));
  if (d.columns) s.add(rule_of_three(shard_slot(rank - 1), slot{}, shard_slot(of_x + 1 + int{d.block})));
  return s;
}

} // namespace detail

namespace strategies {

/// A preconditioner that uses the diagonal block of each rank by definition (A, x): nonlinear in A, linear in x.
constexpr strategy local_preconditioner(sparse_dims const& d = {}) {
  auto s = detail::map_of_right_hand_sides(d);
  slot const own = shard_slot(d.batch), of_x = shard_slot(d.vector_has_batch ? d.batch : 0);
  return s.add(detail::rule_of_three(own, detail::rows_slot, of_x)).linear_in(operand_bits(1));
}

/// An iterative solve (A, b): the rows of A, and the products inside it exchange their halos. A direct one: batches and
/// right-hand sides only.
constexpr strategy solve(sparse_dims const& d = {}, bool direct = false) {
  auto s = detail::map_of_right_hand_sides(d);
  slot const own = shard_slot(d.batch), of_x = shard_slot(d.vector_has_batch ? d.batch : 0);
  if (!direct) s.add(detail::rule_of_three(own, detail::rows_slot, of_x, communication::solver));
  return s.linear_in(operand_bits(1));
}

} // namespace strategies
} // namespace sla
