// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expansion: all placements of operands and results that one axis offers, from the rules of a strategy and the families
// that occur. The check for ambiguous rules goes through this list; given operands are decided in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/rule/match.hpp>
#include <sla/spmd/rule/table/indexed.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {

/// The most rules that one operation expands to.
inline constexpr int max_expansion = 64;
/// The most families that one call names.
inline constexpr int max_families = 8;

/// What may stand in a placeholder: a family, with the pattern of a halo where ghosts stand.
struct shard_filler {
  std::int16_t family = -1, pattern = -1;
  constexpr bool operator==(shard_filler const&) const = default;
};
/// The families of a call, each once.
struct filler_list {
  fixed_array<shard_filler, max_families> at{};
  int size = 0;
  constexpr filler_list& add(shard_filler f) {
    for (int n = 0; n < size; ++n)
      if (at[n] == f) return *this;
    if (size < max_families) at[size++] = f;
    return *this;
  }
};

/// The families on any operand, on any axis.
template <class = void>
constexpr filler_list families_of(std::span<operand const> operands) {
  filler_list out;
  for (auto const& o : operands)
    for (int a = 0; a < o.type.axes && !o.weak; ++a)
      if (is_sharded(o.type.on[a].kind)) out.add({o.type.on[a].family, o.type.on[a].pattern});
  return out;
}

/// One possibility on one axis: a placement of every operand and of every result.
struct rule_choice {
  fixed_array<placement_value, max_operands> in{};
  fixed_array<placement_value, max_results> out{};
  communication implied = communication::none;
  std::int8_t from = -1; ///< the rule's number; -1: all operands replicated
};
/// The rules of an operation with the families of a call in their placeholders.
struct rule_expansion {
  fixed_array<rule_choice, max_expansion> at{};
  int size = 0;
  code why = code::ok; ///< ambiguous_rule: two rules want the same operands and say different results
};

namespace detail {

constexpr bool same_operands(rule_choice const& a, rule_choice const& b, int inputs) {
  for (int k = 0; k < inputs; ++k)
    if (!(a.in[k] == b.in[k])) return false;
  return true;
}

template <class = void>
constexpr void add_choice(rule_expansion& out, strategy const& s, rule_choice const& c) {
  for (int n = 0; n < out.size; ++n) {
    if (!same_operands(out.at[n], c, s.inputs)) continue;
    for (int k = 0; k < s.results; ++k)
      if (!(out.at[n].out[k] == c.out[k])) out.why = code::ambiguous_rule;
    return; // the first rule wins
  }
  if (out.size < max_expansion) out.at[out.size++] = c;
}

template <class = void>
constexpr rule_choice filled_rule(strategy const& s, rule const& r, slot_bindings const& f, std::uint8_t whole, int number) {
  rule_choice c;
  for (int k = 0; k < s.inputs; ++k)
    c.in[k] = whole >> k & 1 ? placement_value{placement_kind::replicate} : filled_slot(r.in[k], f);
  for (int n = 0; n < s.results; ++n) c.out[n] = filled_slot(r.out[n], f);
  c.implied = r.implied;
  c.from = static_cast<std::int8_t>(number);
  return c;
}

/// The slots of a rule that a partition fills: none, shards, or ghosts too.
struct uses {
  fixed_array<bool, max_partitions> any{}, ghosts{};
  bool even = false;
  constexpr void see(slot const& s) {
    if (s.kind == slot_kind::replicate || s.kind == slot_kind::partial) return;
    any[s.partition] = true;
    even = even || s.even != 0;
    if (s.kind == slot_kind::ghost || s.kind == slot_kind::ghost_partial) ghosts[s.partition] = true;
  }
};

template <class = void>
constexpr void expand_shards(rule_expansion& out, strategy const& s, rule const& r, filler_list const& families,
                             std::uint64_t even_families, int number) {
  uses u;
  for (int k = 0; k < s.inputs; ++k) u.see(r.in[k]);
  for (int n = 0; n < s.results; ++n) u.see(r.out[n]);
  fixed_array<int, max_partitions> n{};
  for (bool more = families.size > 0; more;) {
    slot_bindings f;
    bool fits_so = true, ghosts = false;
    for (int p = 0; p < max_partitions; ++p) {
      if (!u.any[p]) continue;
      auto const& by = families.at[n[p]];
      f.family[p] = by.family;
      f.pattern[p] = by.pattern;
      if (u.ghosts[p]) fits_so = fits_so && by.pattern >= 0;
      if (!u.ghosts[p] && by.pattern >= 0) ghosts = true;
      if (u.even) fits_so = fits_so && (even_families >> by.family & 1);
    }
    if (ghosts) { // ghosts in plain slots: only where the copies stay consistent
      fits_so = fits_so && !s.sparse && keeps_index(s, r) && only_shards(s, r);
      f.as_shard = placement_kind::ghost;
    }
    if (fits_so) add_choice(out, s, filled_rule(s, r, f, 0, number));
    more = false;
    for (int p = 0; p < max_partitions && !more; ++p) {
      if (!u.any[p]) continue;
      more = ++n[p] < families.size;
      if (!more) n[p] = 0;
    }
  }
}

template <class = void>
constexpr void expand_folds(rule_expansion& out, strategy const& s, rule const& r, monoid_set folds, int number) {
  unsigned pending = 0; // the operands with a partial slot; one at least stays pending
  for (int k = 0; k < s.inputs; ++k) pending |= unsigned{r.in[k].kind == slot_kind::partial} << k;
  for (auto m : {monoid::sum, monoid::average, monoid::maximum, monoid::minimum, monoid::product}) {
    bool const stated = r.folds == 0; // the slots name their folds
    if (!stated && !(has_monoid(r.folds, m) && has_monoid(folds, m))) continue;
    slot_bindings f;
    f.fold = m;
    bool allowed = true;
    for (int k = 0; k < s.inputs; ++k)
      allowed =
          allowed && (r.in[k].kind != slot_kind::partial || r.in[k].fold == monoid::none || has_monoid(folds, r.in[k].fold));
    if (allowed) add_choice(out, s, filled_rule(s, r, f, 0, number));
    if (stated) return;
    if (s.inputs > 3 || !has_monoid(idempotent_monoids, m)) continue;
    for (unsigned whole = 1; whole < (1U << s.inputs); ++whole) // some of the operands have no pending part
      if ((whole & r.mixes) == whole && whole != pending)
        add_choice(out, s, filled_rule(s, r, f, static_cast<std::uint8_t>(whole), number));
  }
}

} // namespace detail

/// All choices of one axis, in order of preference: all operands replicated, then the rules of pending reductions with every
/// one of the monoids `folds`, then those of shards with every family of the list (none if it is empty). Law: two rules
/// that want the same operands say the same results, else `why` is E38.
template <class = void>
constexpr rule_expansion expand(strategy const& s, filler_list const& families, monoid_set folds = all_monoids,
                           bool invariant = false, std::uint64_t even_families = ~0ULL) {
  rule_expansion out;
  for (auto kind : {placement_kind::replicate, placement_kind::invariant}) {
    if (kind == placement_kind::invariant && !invariant) continue;
    rule_choice whole;
    for (int k = 0; k < s.inputs; ++k) whole.in[k].kind = kind;
    for (int n = 0; n < s.results; ++n)
      whole.out[n].kind = s.basis == result_basis::random     ? placement_kind::untyped
                          : s.basis == result_basis::constant ? placement_kind::replicate
                                                              : kind;
    detail::add_choice(out, s, whole);
  }
  for (bool with_shards : {false, true})
    for (int n = 0; n < s.size; ++n) {
      auto const& r = s.rules[n];
      bool shards = false, pending = false;
      for (int k = 0; k < s.inputs; ++k) {
        shards = shards || (r.in[k].kind != slot_kind::replicate && r.in[k].kind != slot_kind::partial);
        pending = pending || r.in[k].kind == slot_kind::partial;
      }
      if (shards && with_shards) detail::expand_shards(out, s, r, families, even_families, n);
      if (!shards && pending && !with_shards) detail::expand_folds(out, s, r, folds, n);
    }
  return out;
}

/// What is wrong with a strategy as it is stated: no_rule if a slot names a dimension or a partition that cannot be,
/// ambiguous_rule if a rule repeats that everything is replicated, or two rules want the same operands.
template <class = void>
constexpr code check_strategy(strategy const& s) {
  bool const counts = s.inputs > 0 && s.inputs <= max_operands && s.results > 0 && s.results <= max_results;
  if (!s.known || !counts || s.size > max_rules) return code::no_rule;
  for (int n = 0; n < s.size; ++n) {
    auto const& r = s.rules[n];
    bool split = false;
    for (int k = 0; k < max_operands; ++k) {
      auto const& slot = r.in[k];
      bool const whole = slot.kind == slot_kind::replicate;
      if (k >= s.inputs && !whole) return code::no_rule; // more slots than operands
      split = split || !whole;
      if (slot.kind == slot_kind::partial && slot.fold == monoid::none && r.folds == 0) return code::no_rule;
      if (slot.kind == slot_kind::shard && (slot.dim < 0 || slot.dim >= max_dims)) return code::no_rule;
      if (slot.partition < 0 || slot.partition >= detail::max_partitions) return code::no_rule;
    }
    for (int k = 0; k < max_results; ++k) {
      auto const& slot = r.out[k];
      if (k >= s.results && slot.kind != slot_kind::replicate) return code::no_rule;
      if (slot.kind == slot_kind::shard && (slot.dim < 0 || slot.dim >= s.result_rank[k])) return code::no_rule;
    }
    if (!split) return code::ambiguous_rule;
  }
  filler_list two;
  two.add({1, -1}).add({2, -1}).add({1, 1});
  return expand(s, two).why;
}

/// Can a tensor of these extents have these placements on axes of these sizes? A dimension needs an index for every
/// rank that has a part of it; an unknown extent is checked at run time.
template <class = void>
constexpr bool shardable(tensor_placement const& t, dims const& x, fixed_array<int, max_mesh_axes> const& sizes) {
  for (int d = 0; d < x.rank; ++d) {
    std::int64_t parts = 1;
    for (int a = 0; a < t.axes; ++a)
      if (is_sharded(t.on[a].kind) && sharded_dim(t.on[a], t) == d) parts *= sizes[a];
    if (x.extent[d] >= 0 && parts > x.extent[d]) return false;
  }
  return true;
}

} // namespace sla
