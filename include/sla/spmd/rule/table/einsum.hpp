// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strategies of products with contraction, from their index notation: "mk,kn->mn". Every label is one rule, and so is
// every operand in which the product is linear; there are no others. Sparse products are in sparse_tensors.hpp.
#pragma once
#include <cstdint>
#include <string_view>

#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {
namespace detail {

/// "mk,kn->mn" in letters. `_` is a dimension that must be whole on every rank; `...` are the leading dimensions that
/// the operands have beyond the labels, aligned at their last one. False if the text is not such a thing.
template <class = void>
constexpr bool parse(std::string_view spec, dims const* operands, int count, index_map& m) {
  int dots = 0; // the longest "..."
  for (int pass = 0; pass < 2; ++pass) {
    int k = 0, d = 0, labels = 0;
    bool out = false;
    auto const rank_of = [&](std::string_view rest) { // labels of the term that begins here
      int n = 0;
      for (char c : rest) {
        if (c == ',' || c == '-') break;
        if (c != '.' && c != ' ') ++n;
      }
      return n;
    };
    labels = rank_of(spec);
    for (std::size_t i = 0; i < spec.size(); ++i) {
      char const c = spec[i];
      if (c == ' ') continue;
      if (c == ',') {
        if (out || ++k >= max_operands) return false;
        d = 0, labels = rank_of(spec.substr(i + 1));
      } else if (c == '-') {
        if (i + 1 >= spec.size() || spec[++i] != '>' || out) return false;
        out = true, d = 0;
      } else if (c == '.') {
        if (i + 2 >= spec.size() || spec[i + 1] != '.' || spec[i + 2] != '.') return false;
        i += 2;
        int const extra = out ? dots : k < count ? operands[k].rank - labels : 0;
        if (extra < 0 || (pass == 1 && extra > dots)) return false;
        if (pass == 0) dots = extra > dots ? extra : dots;
        for (int e = 0; e < extra && pass == 1; ++e, ++d) {
          if (d >= max_dims) return false;
          (out ? m.out[0] : m.in[k])[d] = static_cast<std::int8_t>(e + dots - extra + 1); // below every character
        }
      } else {
        if (d >= max_dims) return false;
        if (pass == 1) (out ? m.out[0] : m.in[k])[d] = c == '_' ? std::int8_t{-1} : static_cast<std::int8_t>(c);
        ++d;
      }
      if (out) m.out_rank[0] = static_cast<std::int8_t>(d);
    }
    if (!out || (count > 0 && k + 1 != count)) return false;
    m.inputs = k + 1;
  }
  for (int k = 0; k < count; ++k)
    for (int d = 0; d < operands[k].rank; ++d)
      if (operands[k].extent[d] == 1) m.in[k][d] = -1;
  return true;
}

/// Does the result have every label, so that nothing is summed?
template <class = void>
constexpr bool keeps_all_labels(std::string_view spec) {
  std::size_t arrow = 0;
  while (arrow < spec.size() && spec[arrow] != '>') ++arrow;
  if (arrow == spec.size()) return false;
  for (std::size_t i = 0; i + 1 < arrow; ++i) {
    bool found = spec[i] == ',' || spec[i] == ' ' || spec[i] == '.';
    for (std::size_t o = arrow; o < spec.size() && spec[i] != '_'; ++o) found = found || spec[o] == spec[i];
    if (!found) return false;
  }
  return true;
}

} // namespace detail

namespace strategies {

/// A contraction without a claim of linearity: labels only. A contracted label claims that parts add up.
template <class... D>
constexpr strategy contraction(std::string_view spec, D const&... operands) {
  detail::index_map m;
  dims const all[] = {operands..., dims{}};
  if (!detail::parse(spec, all, static_cast<int>(sizeof...(D)), m)) return unknown();
  return detail::indexed(m, monoid::sum);
}

/// A product of the operands over the labels, summed over those that the result lacks. The dimensions of the operands
/// may be left out if none is a broadcast dimension and the text has no "...".
template <class... D>
constexpr strategy einsum(std::string_view spec, D const&... operands) {
  auto s = contraction(spec, operands...);
  for (int k = 0; k < s.inputs && s.known; ++k) s.linear_in(operand_bits(k));
  if (!s.known || !detail::keeps_all_labels(spec)) return s;
  auto const folds = s.inputs == 1 ? other_monoids : monoid_bit(monoid::product); // one operand only moves
  return s.passes(static_cast<std::uint8_t>((1U << s.inputs) - 1U), folds, false);
}

/// A product plus a bias that is broadcast to it, as operand number `at`: addmm(bias, a, b) has at = 0, a linear layer
/// (x, w, bias) has at = 2. Law: where the product is a pending sum the bias is one too.
template <class = void>
constexpr strategy einsum_plus(std::string_view spec, dims const& bias, int at, dims const& a, dims const& b) {
  detail::index_map product;
  dims const factors[] = {a, b};
  if (!detail::parse(spec, factors, 2, product) || product.inputs != 2) return unknown();
  detail::index_map m = product;
  m.inputs = 3;
  for (int k = 0, from = 0; k < 3; ++k) m.in[k] = k == at ? detail::no_letters() : product.in[from++];
  int const rank = product.out_rank[0];
  for (int d = 0; d < bias.rank; ++d)
    if (bias.extent[d] != 1) m.in[at][d] = product.out[0][rank - bias.rank + d];
  auto s = detail::indexed(m, monoid::sum);
  for (int n = 0; n < s.size; ++n)
    if (s.rules[n].out[0].kind == slot_kind::partial) s.rules[n].in[at] = s.rules[n].out[0];
  for (int k = 0; k < 3; ++k)
    if (k != at) s.linear_in(operand_bits(k, at));
  return s.rising_in(at);
}

} // namespace strategies
} // namespace sla
