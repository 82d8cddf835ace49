// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of operations that only move entries: every pending reduction passes, and a dimension splits if it arrives
// whole. Moves by an index tensor are in index.hpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla::strategies {

/// Dimension n of the results is dimension from[n] of x, or -1: made, cut, reversed or repeated by the operation.
/// permute is {2, 0, 1}; transpose {1, 0}; unsqueeze {0, -1, 1}; squeeze and select leave one out; flip, roll, narrow
/// and repeat along dimension 0 are {-1, 1}; split and unbind have several results, of which max_results are told.
constexpr strategy move(dims const& x, std::initializer_list<int> from, int results = 1) {
  detail::index_map m;
  if (results > max_results) results = max_results;
  m.inputs = 1;
  m.results = results;
  for (int d = 0; d < x.rank; ++d) m.in[0][d] = static_cast<std::int8_t>(x.extent[d] == 1 ? -1 : d);
  for (int n = 0; n < results; ++n) {
    int at = 0;
    for (int d : from) m.out[n][at++] = d < 0 ? std::int8_t{-1} : m.in[0][d];
    m.out_rank[n] = static_cast<std::int8_t>(at);
  }
  return detail::indexed(m, monoid::none).linear_in(operand_bits(0), other_monoids);
}

/// What keeps the dimensions of x but for those that it changes: flip, roll, narrow, split, repeat, pad.
constexpr strategy move_along(dims const& x, std::uint32_t changed, int results = 1) {
  detail::index_map m;
  if (results > max_results) results = max_results;
  m.inputs = 1;
  m.results = results;
  for (int d = 0; d < x.rank; ++d) {
    m.in[0][d] = static_cast<std::int8_t>(x.extent[d] == 1 ? -1 : d);
    for (int n = 0; n < results; ++n) m.out[n][d] = is_in(changed, d, x) ? std::int8_t{-1} : m.in[0][d];
  }
  for (int n = 0; n < results; ++n) m.out_rank[n] = x.rank;
  return detail::indexed(m, monoid::none).linear_in(operand_bits(0), other_monoids);
}

/// The upper or lower triangle of the last two dimensions. They split where the kernel knows which global rows and
/// columns it has.
constexpr strategy triangle(dims const& x, kernel_knows what = kernel_knows::its_part) {
  return move_along(x, what == kernel_knows::its_place ? 0U : 3U << (x.rank - 2));
}

/// Concatenation along c, of at most max_operands. Sums must all be pending; averages, maxima and minima may meet what
/// every rank has.
constexpr strategy cat(int c, std::initializer_list<dims> operands) {
  detail::index_map m;
  if (operands.size() > max_operands) return unknown();
  for (auto const& x : operands) {
    for (int d = 0; d < x.rank; ++d)
      if (d != x.at(c)) m.in[m.inputs][d] = m.out[0][d] = static_cast<std::int8_t>(x.extent[d] == 1 ? -1 : d);
    m.out_rank[0] = x.rank;
    ++m.inputs;
  }
  return detail::indexed(m, monoid::none).linear_in(static_cast<std::uint8_t>((1U << m.inputs) - 1U), other_monoids);
}
/// The same along a new dimension c.
constexpr strategy stack(int c, std::initializer_list<dims> operands) {
  detail::index_map m;
  if (operands.size() > max_operands) return unknown();
  for (auto const& x : operands) {
    int const made = c < 0 ? c + x.rank + 1 : c;
    for (int d = 0; d < x.rank; ++d)
      m.in[m.inputs][d] = m.out[0][d < made ? d : d + 1] = static_cast<std::int8_t>(x.extent[d] == 1 ? -1 : d);
    m.out_rank[0] = static_cast<std::int8_t>(x.rank + 1);
    ++m.inputs;
  }
  return detail::indexed(m, monoid::none).linear_in(static_cast<std::uint8_t>((1U << m.inputs) - 1U), other_monoids);
}

/// The same entries in row-major order, with other extents. Dimensions that arrive whole split; of a group that merges
/// or is cut the outermost splits, into equal pieces only. All extents are known here.
constexpr strategy reshape(dims const& from, dims const& to) {
  detail::index_map m;
  m.inputs = 1;
  m.out_rank[0] = to.rank;
  fixed_array<std::int64_t, max_dims> even{}; // by letter: what the number of equal pieces must divide
  int i = 0, j = 0;
  while (i < from.rank && j < to.rank) {
    int const first_in = i, first_out = j;
    auto a = from.extent[i++], b = to.extent[j++];
    while (a != b) {
      if (a < b && i < from.rank)
        a *= from.extent[i++];
      else if (j < to.rank)
        b *= to.extent[j++];
      else
        break;
    }
    int in = first_in, out = first_out; // extents of 1 are nobody's
    while (in + 1 < i && from.extent[in] == 1) ++in;
    while (out + 1 < j && to.extent[out] == 1) ++out;
    if (from.extent[in] == 1) continue;
    m.in[0][in] = m.out[0][out] = static_cast<std::int8_t>(first_in);
    if (from.extent[in] == to.extent[out]) continue;
    auto divisor = from.extent[in];
    for (auto rest = to.extent[out]; rest != 0;) divisor %= rest, std::swap(divisor, rest);
    even[first_in] = divisor;
  }
  auto s = detail::indexed(m, monoid::none);
  for (int n = 0; n < s.size; ++n)
    s.rules[n].in[0].even = s.rules[n].out[0].even = even[m.in[0][s.rules[n].in[0].dim]];
  return s.linear_in(operand_bits(0), other_monoids);
}

} // namespace sla::strategies
