// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies from indices: one letter for every dimension, equal letters are one index, and each index is one rule.
// What the operations of the tables are in letters is in the other files of this folder.
#pragma once
#include <cstdint>

#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {

/// The dimensions of an operand of an operation. An extent of 1 is a broadcast dimension, which nobody shards; -1 is
/// an extent that is not known before run time (and then it is not 1).
struct dims {
  std::int8_t rank = 0;
  fixed_array<std::int64_t, max_dims> extent{};

  constexpr dims() = default;
  template <class... N>
  requires(sizeof...(N) > 0) constexpr explicit dims(N... n)
      : rank(static_cast<std::int8_t>(sizeof...(N))), extent{{static_cast<std::int64_t>(n)...}} {}
  /// So many dimensions, all extents unknown.
  static constexpr dims unknown(int rank) {
    dims out;
    out.rank = static_cast<std::int8_t>(rank);
    for (int d = 0; d < rank; ++d) out.extent[d] = -1;
    return out;
  }
  /// The number of dimension d; negative ones count from behind.
  constexpr int at(int d) const { return d < 0 ? d + rank : d; }
  /// May the two dimensions be equally long? Unknown extents are compared at run time.
  static constexpr bool agree(std::int64_t a, std::int64_t b) { return a == b || a < 0 || b < 0; }
};

namespace strategies {

/// A set of dimensions as bits: `over(0, 2)`; `over(-1)` is the last one. Errors: shape_error if no tensor has so many; strategies
/// throw it for a dimension that their operand lacks. In a constant the compiler refuses both.
template <class... Int>
constexpr std::uint32_t over(Int... d) {
  auto const bit = [](int n) {
    if (n < -max_dims || n >= max_dims) throw shape_error(text("over(", n, "): no tensor has more than ", max_dims, " dimensions"));
    return 1U << (static_cast<unsigned>(n) & 31U);
  };
  return (0U | ... | bit(static_cast<int>(d)));
}
/// All dimensions.
inline constexpr std::uint32_t over_all = ~0U;
/// Is dimension d of x in the set?
template <class = void>
constexpr bool is_in(std::uint32_t set, int d, dims const& x) {
  std::uint32_t const low = (1U << x.rank) - 1U, beyond = set & ~(low | low << (31 - x.rank) << 1);
  if (beyond && set != over_all) {
    int wrong = 0;
    while (!(beyond >> wrong & 1U)) ++wrong;
    throw shape_error(text("over(", wrong < max_dims ? wrong : wrong - 32, "): the dimensions of this operand are 0 to ", x.rank - 1, ", or -1 to ",
                           -x.rank, " from behind"));
  }
  return (set >> d | set >> (32 + d - x.rank)) & 1U;
}

} // namespace strategies

namespace detail {

/// A letter for every dimension: equal letters are one index. -1: no such dimension, or one that nobody shards.
using letters = fixed_array<std::int8_t, max_dims>;
constexpr letters no_letters() {
  letters out;
  for (int d = 0; d < max_dims; ++d) out[d] = -1;
  return out;
}
constexpr int position(letters const& all, std::int8_t letter) {
  for (int d = 0; d < max_dims; ++d)
    if (all[d] == letter) return d;
  return -1;
}
constexpr bool repeated(letters const& all, std::int8_t letter) {
  int n = 0;
  for (int d = 0; d < max_dims; ++d) n += all[d] == letter;
  return n > 1;
}

/// Operands and results in letters; a sparse one (*batch, M, N, *block) has its batch dimensions, others -1.
struct index_map {
  int inputs = 0, results = 1;
  fixed_array<letters, max_operands> in{};
  fixed_array<letters, max_results> out{};
  fixed_array<std::int8_t, max_operands> in_batch{};
  fixed_array<std::int8_t, max_results> out_batch{}, out_rank{};

  constexpr index_map() {
    for (int k = 0; k < max_operands; ++k) in[k] = no_letters(), in_batch[k] = -1;
    for (int n = 0; n < max_results; ++n) out[n] = no_letters(), out_batch[n] = -1;
  }
};

/// The slot of dimension d: rows and columns of a sparse tensor have their own.
constexpr slot sharded_slot(int d, int batch, int partition) {
  slot out = shard_slot(d, partition);
  if (batch >= 0 && d == batch) out.kind = slot_kind::rows;
  if (batch >= 0 && d == batch + 1) out.kind = slot_kind::columns;
  return out;
}

/// The rule that splits one index: `fold` is what a result without the index is to be reduced with.
template <class = void>
constexpr rule split_index(index_map const& m, std::int8_t letter, monoid fold) {
  rule r;
  for (int k = 0; k < m.inputs; ++k)
    if (int const d = position(m.in[k], letter); d >= 0) r.in[k] = sharded_slot(d, m.in_batch[k], 0);
  for (int n = 0; n < m.results; ++n) {
    int const d = position(m.out[n], letter);
    r.out[n] = d >= 0 ? sharded_slot(d, m.out_batch[n], 0) : partial_slot(fold);
  }
  return r;
}

/// Can the index be split? Not if it stands twice in one operand (a diagonal), or if a result lacks it and nothing
/// folds the parts.
template <class = void>
constexpr bool can_split(index_map const& m, std::int8_t letter, monoid fold) {
  for (int k = 0; k < m.inputs; ++k)
    if (repeated(m.in[k], letter)) return false;
  for (int n = 0; n < m.results; ++n)
    if (repeated(m.out[n], letter) || (fold == monoid::none && position(m.out[n], letter) < 0)) return false;
  return true;
}

/// An operation on these indices, with one rule per index that an operand has.
template <class = void>
constexpr strategy indexed(index_map const& m, monoid fold) {
  strategy s;
  s.inputs = m.inputs;
  s.results = m.results;
  s.result_rank = m.out_rank;
  s.result_batch = m.out_batch;
  for (int k = 0; k < m.inputs; ++k)
    for (int d = 0; d < max_dims; ++d) {
      auto const letter = m.in[k][d];
      bool first = letter >= 0;
      for (int earlier = 0; earlier < k; ++earlier) first = first && position(m.in[earlier], letter) < 0;
      if (first && position(m.in[k], letter) == d && can_split(m, letter, fold)) s.add(split_index(m, letter, fold));
    }
  return s;
}

/// Operands aligned at their last dimensions, as broadcasting does; the result has all dimensions of the longest.
template <class... D>
constexpr index_map broadcast(D const&... operands) {
  index_map m;
  m.inputs = static_cast<int>(sizeof...(D));
  dims const all[] = {operands...};
  int rank = 0;
  for (auto const& d : all) rank = d.rank > rank ? d.rank : rank;
  m.out_rank[0] = static_cast<std::int8_t>(rank);
  for (int k = 0; k < m.inputs; ++k)
    for (int d = 0; d < all[k].rank; ++d) {
      if (all[k].extent[d] == 1) continue;
      m.in[k][d] = static_cast<std::int8_t>(rank - all[k].rank + d);
      m.out[0][rank - all[k].rank + d] = m.in[k][d];
    }
  return m;
}

} // namespace detail
} // namespace sla
