// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of operations that are compositions in one kernel: normalisation, attention, dense solves. Iterative solves
// are in sparse_tensors.hpp; operations of which only linearity is known are `opaque`, in spmd/rule/table/strategy.hpp.
#pragma once

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::strategies {

/// Layer normalisation over the last `normalised` dimensions, as (x, weight, bias) -> (y, mean, reciprocal deviation);
/// linear in weight and bias together.
template <class = void>
constexpr strategy layer_norm(dims const& x, int normalised, int results = 3) {
  auto s = opaque(3, x.rank, results);
  for (int d = 0; d < x.rank - normalised; ++d) {
    rule r;
    if (x.extent[d] == 1) continue;
    r.in[0] = shard_slot(d);
    for (int n = 0; n < results; ++n) r.out[n] = shard_slot(d);
    s.add(r);
  }
  rule affine; // mean and deviation do not see weight and bias
  affine.in[1] = affine.in[2] = affine.out[0] = partial_slot();
  affine.folds = sum_monoids;
  affine.mixes = operand_bits(1, 2);
  s.linear[s.groups++] = operand_bits(1, 2);
  s.add(affine);
  rule of_bias;
  of_bias.in[2] = of_bias.out[0] = partial_slot();
  of_bias.folds = extremum_monoids;
  return s.add(of_bias);
}

/// Attention, (q, k, v) -> (o, log of sums): (batch, head, length, width) each. Linear in v.
template <class = void>
constexpr strategy attention(int results = 2) {
  auto s = opaque(3, 0, results);
  s.result_rank = {{4, 3, 0, 0}};
  for (int d = 0; d < 2; ++d) { // batch and heads
    rule r;
    for (int k = 0; k < 3; ++k) r.in[k] = shard_slot(d);
    for (int n = 0; n < results; ++n) r.out[n] = shard_slot(d);
    s.add(r);
  }
  rule queries;
  queries.in[0] = shard_slot(2);
  for (int n = 0; n < results; ++n) queries.out[n] = shard_slot(2);
  s.add(queries);
  rule width;
  width.in[2] = width.out[0] = shard_slot(3);
  s.add(width);
  rule values;
  values.in[2] = values.out[0] = partial_slot();
  values.folds = sum_monoids;
  s.linear[s.groups++] = operand_bits(2);
  return s.add(values);
}

/// A dense or triangular solve (A, B): batches and right-hand sides split; linear in B. `vector`: B has no columns.
template <class = void>
constexpr strategy dense_solve(dims const& A, bool vector = false) {
  int const rank = vector ? A.rank - 1 : A.rank;
  auto s = opaque(2, rank);
  for (int d = 0; d < A.rank - 2; ++d) {
    rule r;
    r.in[0] = r.in[1] = r.out[0] = shard_slot(d);
    if (A.extent[d] != 1) s.add(r);
  }
  if (!vector) {
    rule columns;
    columns.in[1] = columns.out[0] = shard_slot(rank - 1);
    s.add(columns);
  }
  return s.linear_in(operand_bits(1));
}

/// Determinants, inverses, eigenvalues of the last two dimensions: batches only.
template <class = void>
constexpr strategy dense_function(dims const& A, int result_rank) {
  auto s = opaque(1, result_rank);
  for (int d = 0; d < A.rank - 2; ++d) {
    rule r;
    r.in[0] = r.out[0] = shard_slot(d);
    if (A.extent[d] != 1) s.add(r);
  }
  return s;
}

} // namespace sla::strategies
