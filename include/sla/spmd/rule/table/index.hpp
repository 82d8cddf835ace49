// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of moves by an index tensor: gather, scatter, selection and embeddings. An index is never pending. What
// an index points into is whole on every rank, unless the kernel knows its place and makes zero of the entries that other ranks hold.
#pragma once

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::strategies {

/// x[..., index, ...] along c, with an index of one dimension.
constexpr strategy index_select(dims const& x, int along, kernel_knows what = kernel_knows::its_part) {
  int const c = x.at(along);
  auto s = opaque(2, x.rank);
  for (int d = 0; d < x.rank; ++d) {
    rule r;
    r.out[0] = shard_slot(d);
    if (d == c)
      r.in[1] = shard_slot(0);
    else if (x.extent[d] != 1)
      r.in[0] = shard_slot(d);
    else
      continue;
    s.add(r);
  }
  s.linear_in(operand_bits(0), other_monoids);
  if (what == kernel_knows::its_part) return s;
  rule r;
  r.in[0] = shard_slot(c);
  r.out[0] = partial_slot(monoid::sum);
  return s.add(r);
}

/// gather(x, c, index): the result has the dimensions of the index. Law: a dimension other than c splits only where
/// index and x are equally long, since rank r has part r of both.
constexpr strategy gather(dims const& x, int along, dims const& index, kernel_knows what = kernel_knows::its_part) {
  int const c = x.at(along);
  auto s = opaque(2, index.rank);
  for (int d = 0; d < index.rank; ++d) {
    rule r;
    if (index.extent[d] == 1) continue;
    if (d != c && !dims::agree(index.extent[d], x.extent[d])) continue;
    if (d != c) r.in[0] = shard_slot(d);
    r.in[1] = r.out[0] = shard_slot(d);
    s.add(r);
  }
  s.linear_in(operand_bits(0), other_monoids);
  if (what == kernel_knows::its_part || x.extent[c] == 1) return s;
  rule r;
  r.in[0] = shard_slot(c);
  r.out[0] = partial_slot(monoid::sum);
  return s.add(r);
}

/// scatter_add(self, c, index, source), as (self, index, source). Law: as for gather, with all three equally long;
/// along c itself index and source split together, and self is a pending sum.
constexpr strategy scatter_add(dims const& self, int along, dims const& index, dims const& source) {
  int const c = self.at(along);
  auto s = opaque(3, self.rank);
  for (int d = 0; d < self.rank; ++d) {
    bool const same = dims::agree(index.extent[d], source.extent[d]) && index.extent[d] != 1;
    if (!same || (d != c && !dims::agree(index.extent[d], self.extent[d]))) continue;
    rule r;
    r.in[1] = r.in[2] = shard_slot(d);
    r.in[0] = r.out[0] = d == c ? partial_slot(monoid::sum) : shard_slot(d);
    s.add(r);
  }
  return s.linear_in(operand_bits(0, 2)).rising_in(0);
}

/// index_add(self, c, index, source) with an index of one dimension, as (self, index, source).
constexpr strategy index_add(dims const& self, int along) {
  int const c = self.at(along);
  auto s = opaque(3, self.rank);
  for (int d = 0; d < self.rank; ++d) {
    rule r;
    if (d != c && self.extent[d] == 1) continue;
    r.in[2] = shard_slot(d);
    r.in[1] = d == c ? shard_slot(0) : slot{};
    r.in[0] = r.out[0] = d == c ? partial_slot(monoid::sum) : shard_slot(d);
    s.add(r);
  }
  return s.linear_in(operand_bits(0, 2)).rising_in(0);
}

/// Rows of a weight (vocabulary, width) by an index, as (weight, index).
constexpr strategy embedding(dims const& index, kernel_knows what = kernel_knows::its_part) {
  auto s = opaque(2, index.rank + 1);
  rule width;
  width.in[0] = shard_slot(1);
  width.out[0] = shard_slot(index.rank);
  s.add(width);
  for (int d = 0; d < index.rank; ++d) {
    rule r;
    r.in[1] = r.out[0] = shard_slot(d);
    if (index.extent[d] != 1) s.add(r);
  }
  s.linear_in(operand_bits(0), other_monoids);
  if (what == kernel_knows::its_part) return s;
  rule vocabulary;
  vocabulary.in[0] = shard_slot(0);
  vocabulary.out[0] = partial_slot(monoid::sum);
  return s.add(vocabulary);
}

} // namespace sla::strategies
