// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reshapes by pattern, "(a b) c -> a b c": what becomes of dimensions that are sharded. Row-major order stays, so the names stand in
// one order on both sides. Carried out in dist/view/reshape.hpp.
#pragma once
#include <cstdint>
#include <string_view>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/partition_spec.hpp>

namespace sla {

/// The most factors of a pattern of a reshape.
inline constexpr int max_factors = 12;

/// One side of a pattern: for each dimension the factors of which it is the product, outermost first. No factor: extent 1.
struct factored_dims {
  int rank = 0;
  fixed_array<int, max_dims> first{}, count{}; ///< factors first, ..., first + count - 1
};
/// A reshape as factors of the dimensions before and after.
struct reshape_pattern {
  bool valid = false;
  int factors = 0;
  fixed_array<std::string_view, max_factors> name{};
  factored_dims from{}, to{};

  /// Are all factors of dimension d, which is not of extent 1, in dimension e of the result?
  constexpr bool keeps(int d, int e) const {
    return to.first[e] <= from.first[d] && from.first[d] + from.count[d] <= to.first[e] + to.count[e];
  }
  /// The number of the factor of this name; -1 if there is none.
  template <class = void>
  constexpr int find(std::string_view wanted) const {
    for (int n = 0; n < factors; ++n)
      if (name[n] == wanted) return n;
    return -1;
  }
};

namespace detail {
/// Reads names, `1` and one level of parentheses up to the end; the names go to `name`, their number to `factors`.
template <class = void>
constexpr bool read_side(std::string_view text, factored_dims& side, fixed_array<std::string_view, max_factors>& name, int& factors) {
  bool open = false;
  std::size_t at = 0;
  auto const begin_dim = [&] {
    if (side.rank == max_dims) return false;
    side.first[side.rank] = factors;
    return side.count[side.rank++] = 0, true;
  };
  auto const is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  while (at < text.size()) {
    char const c = text[at];
    if (c == ' ') {
      ++at;
    } else if (c == '(' || c == ')') {
      if (open == (c == '(')) return false;
      open = c == '(';
      if (open && !begin_dim()) return false;
      ++at;
    } else if (is_letter(c)) {
      std::size_t end = at;
      while (end < text.size() && is_letter(text[end])) ++end;
      auto const word = text.substr(at, end - at);
      at = end;
      if (word == "1") { // an extent of 1
        if (!open && !begin_dim()) return false;
        continue;
      }
      if (factors == max_factors) return false;
      if (!open && !begin_dim()) return false;
      ++side.count[side.rank - 1];
      name[factors++] = word;
    } else {
      return false;
    }
  }
  return !open;
}
} // namespace detail

/// Reads a pattern. Not valid: other characters, nested parentheses, a name twice, or other names or another order on the right.
template <class = void>
constexpr reshape_pattern read_pattern(std::string_view text) {
  reshape_pattern out;
  std::size_t arrow = 0;
  while (arrow + 1 < text.size() && !(text[arrow] == '-' && text[arrow + 1] == '>')) ++arrow;
  if (arrow + 1 >= text.size()) return out;
  fixed_array<std::string_view, max_factors> right{};
  int count = 0;
  if (!detail::read_side(text.substr(0, arrow), out.from, out.name, out.factors)) return out;
  if (!detail::read_side(text.substr(arrow + 2), out.to, right, count) || count != out.factors) return out;
  for (int n = 0; n < count; ++n) {
    if (!(out.name[n] == right[n])) return out;
    for (int m = 0; m < n; ++m)
      if (out.name[m] == out.name[n]) return out;
  }
  out.valid = true;
  return out;
}

/// Why a reshape is refused (codes E26, and E30 for uneven shards); `dim` is the dimension of the operand.
enum class reshape_fault : std::uint8_t {
  none,
  pattern,     ///< it cannot be read, or its dimensions are not the operand's
  dropped,     ///< a dimension of extent 1 that is sharded disappears, or is made
  inner,       ///< a dimension that is sharded becomes an inner factor of another
  indivisible, ///< the ranks do not divide the outermost factor of a dimension that is cut
  unknown,     ///< whether they do is known at run time only
  uneven       ///< an uneven shard of a dimension that is cut or merged
};
/// The placements after a reshape, or what is wrong.
struct reshape_outcome {
  tensor_placement type{};
  reshape_fault fault = reshape_fault::none;
  int dim = -1;
  fixed_array<std::int64_t, max_mesh_axes> pieces{}; ///< of an axis whose shards became Strided<pieces>; else 0
  constexpr bool ok() const { return fault == reshape_fault::none; }
};

/// What a reshape knows: extents of factors and sizes of axes, -1 where they are known at run time only.
struct reshape_facts {
  fixed_array<std::int64_t, max_factors> factor{};
  fixed_array<std::int64_t, max_mesh_axes> axis{};
  std::uint64_t even_families = 0; ///< a bit per family whose pieces are equal
  bool assume_divisible = false;   ///< divisibility that is not known is checked at run time
  bool strided = false;            ///< what is sharded may become an inner factor: its shards are then Strided
};

/// The placements after a reshape of a dense tensor. A dimension that stays as it is keeps any placement; one that is cut shards
///  its outermost factor; one that is merged with others must be the outermost factor, since its pieces would interleave.
template <class = void>
constexpr reshape_outcome reshape_placement(tensor_placement const& t, reshape_pattern const& p, reshape_facts const& known) {
  reshape_outcome out;
  auto const wrong = [&](reshape_fault f, int d) { return out.fault = f, out.dim = d, out; };
  if (!p.valid || p.from.rank != t.rank) return wrong(reshape_fault::pattern, -1);
  out.type = t;
  out.type.rank = static_cast<std::int8_t>(p.to.rank);
  for (int d = 0; d < t.rank; ++d) {
    auto const order = order_of(t, d);
    if (order.count == 0) continue;
    if (p.from.count[d] == 0) return wrong(reshape_fault::dropped, d);
    int const lead = p.from.first[d]; // the outermost factor, where the shards go
    int at = -1;
    for (int e = 0; e < p.to.rank; ++e)
      if (p.to.count[e] > 0 && p.to.first[e] <= lead && lead < p.to.first[e] + p.to.count[e]) at = e;
    bool const cut = !p.keeps(d, at), same = !cut && p.to.count[at] == p.from.count[d];
    if (p.to.first[at] != lead) {
      std::int64_t outer = 1;
      bool all_known = known.strided && !cut && order.count == 1;
      for (int f = p.to.first[at]; f < lead; ++f) {
        all_known = all_known && known.factor[f] > 0;
        outer *= known.factor[f];
        for (int e = 0; e < t.rank; ++e)
          if (p.from.first[e] <= f && f < p.from.first[e] + p.from.count[e]) all_known = all_known && order_of(t, e).count == 0;
      }
      if (!all_known) return wrong(reshape_fault::inner, d);
      out.pieces[order.axis[0]] = outer;
    }
    for (int n = 0; n < order.count; ++n) {
      auto& q = out.type.on[order.axis[n]];
      bool const even = q.kind == placement_kind::shard && (known.even_families >> q.family & 1);
      if (!same && !even) return wrong(reshape_fault::uneven, d);
      q.dim = static_cast<std::int8_t>(at);
    }
    if (cut) {
      std::int64_t ranks = 1;
      bool all_known = known.factor[lead] >= 0;
      for (int n = 0; n < order.count; ++n) {
        all_known = all_known && known.axis[order.axis[n]] >= 0;
        ranks *= known.axis[order.axis[n]];
      }
      if (all_known && known.factor[lead] % ranks != 0) return wrong(reshape_fault::indivisible, d);
      if (!all_known && !known.assume_divisible) return wrong(reshape_fault::unknown, d);
    }
  }
  return out;
}

} // namespace sla
