// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matching: what the operands of a call hold on one axis, and the first rule of the strategy that they fit, with its
// placeholders filled by the families found on them. The decision over all axes, and refusals, are in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {

/// What a mesh and a call ask of the decision beyond the rules; the default asks nothing. Sets of axes are bits.
struct call_context {
  bool permissive = false;             ///< an operand without placement gives a result without one, not a refusal
  std::uint8_t global_axes = 0;        ///< Varying operands are refused there
  std::uint8_t explicit_partial = 0;   ///< contracting a sharded index must be asked for there
  std::uint8_t out_partial = 0;        ///< the caller asks for a pending sum there
  std::int8_t in_place = -1;           ///< the operand that the first result is written to
  std::uint64_t even_families = ~0ULL; ///< a bit per family of equal pieces that dimensions may be merged with
  fixed_array<int, max_mesh_axes> ranks{}; ///< of each axis; 0 where it is not known
  fixed_array<std::string_view, max_mesh_axes> axis_names{}; ///< of the mesh, for rules that name axes
  std::int16_t even_family = -1;                             ///< the number of the family Even, for rules that shard
};

namespace detail {

/// What one axis of a call comes to: placements of the results, or the refusal.
struct axis_outcome {
  fixed_array<placement_value, max_results> at{};
  communication implied = communication::none;
  code why = code::ok;
  int operand = -1;
};
constexpr axis_outcome refuse(code why, int k) {
  axis_outcome out;
  out.why = why;
  out.operand = k;
  return out;
}
template <class = void>
constexpr axis_outcome everywhere(placement_value p, int results) {
  axis_outcome out;
  for (int n = 0; n < results; ++n) out.at[n] = p;
  return out;
}

/// The operands' placements on one axis, counted.
struct placement_counts {
  int replicate = 0, invariant = 0, varying = 0, partial = 0, weak = 0, free = 0, sharded = 0, untyped = 0;
  int free_invariant = 0; ///< of the free ones
  int last_invariant = -1, last_partial = -1, first_varying = -1, first_ghost_partial = -1, first_untyped = -1,
      lead = -1;
  std::uint8_t partials = 0; ///< the operands that are pending reductions
  monoid fold = monoid::none;
  bool mixed = false;
};

/// Does the operand count as Replicate or Invariant, whichever the others need?
constexpr bool is_free(strategy const& s, operand const& o, placement_value at) {
  return is_copied(at.kind) && (!o.gradient || !s.differentiable);
}

template <class = void>
constexpr placement_counts count(strategy const& s, std::span<operand const> operands, int axis) {
  using kind = placement_kind;
  placement_counts c;
  int n = 0;
  for (auto const& o : operands) {
    auto const at = o.type.on[axis];
    if (o.weak)
      ++c.weak;
    else if (is_free(s, o, at))
      ++c.free, c.free_invariant += at.kind == kind::invariant;
    else if (at.kind == kind::invariant)
      ++c.invariant, c.last_invariant = n;
    else if (at.kind == kind::replicate)
      ++c.replicate;
    else if (at.kind == kind::varying)
      ++c.varying, c.first_varying = c.first_varying < 0 ? n : c.first_varying;
    else if (at.kind == kind::partial) {
      c.mixed = c.mixed || (c.partial > 0 && c.fold != at.fold);
      c.fold = at.fold;
      c.partials |= operand_bits(n);
      ++c.partial, c.last_partial = n;
    } else if (at.kind == kind::untyped)
      ++c.untyped, c.first_untyped = c.first_untyped < 0 ? n : c.first_untyped;
    else {
      if (c.lead < 0) c.lead = n;
      if (at.kind == kind::ghost_partial && c.first_ghost_partial < 0) c.first_ghost_partial = n;
      ++c.sharded;
    }
    ++n;
  }
  return c;
}

inline constexpr int max_partitions = 3;

/// A rule with its placeholders filled by what the operands have.
struct slot_bindings {
  fixed_array<std::int16_t, max_partitions> family{{-1, -1, -1}}, pattern{{-1, -1, -1}};
  monoid fold = monoid::none;
  int partials = 0;
  placement_kind as_shard = placement_kind::shard; ///< what stands in shard slots: shards, ghosts, or
  std::uint8_t pending = 0;                        ///< contributions to ghosts, in these operands
};

constexpr placement_kind kind_of(slot const& s, slot_bindings const& f, int operand) {
  switch (s.kind) {
  case slot_kind::replicate:
    return placement_kind::replicate;
  case slot_kind::partial:
    return placement_kind::partial;
  case slot_kind::rows:
  case slot_kind::columns:
    return placement_kind::sparse_shard;
  case slot_kind::entries:
    return placement_kind::hyper;
  case slot_kind::ghost:
    return placement_kind::ghost;
  case slot_kind::ghost_partial:
    return placement_kind::ghost_partial;
  default:
    return operand >= 0 && (f.pending >> operand & 1) ? placement_kind::ghost_partial : f.as_shard;
  }
}

constexpr int dim_of(slot const& s) {
  return s.kind == slot_kind::rows ? 0 : s.kind == slot_kind::columns ? 1 : s.kind == slot_kind::entries ? 0 : s.dim;
}

/// Is the dimension sharded evenly, into a number of parts (with those of other axes) that divides `number`?
template <class = void>
constexpr bool has_even_pieces(tensor_placement const& t, int axis, std::int64_t number, call_context const& now) {
  auto const at = t.on[axis];
  if (!(now.even_families >> at.family & 1)) return false;
  std::int64_t pieces = 1;
  for (int a = 0; a < t.axes; ++a)
    if (t.on[a].kind == at.kind && t.on[a].dim == at.dim && now.ranks[a] > 0) pieces *= now.ranks[a];
  return number % pieces == 0;
}

/// Does operand k fit its slot? Fills the placeholders as it goes.
template <class = void>
constexpr bool fits(strategy const& st, rule const& r, operand const& o, int axis, int k, slot_bindings& f,
                    call_context const& now) {
  using kind = placement_kind;
  auto const at = o.type.on[axis];
  auto const& s = r.in[k];
  bool const whole = o.weak || at.kind == kind::replicate || is_free(st, o, at);
  if (s.kind == slot_kind::replicate) return whole;
  if (s.kind == slot_kind::partial) {
    if (whole) return r.mixes >> k & 1;
    if (at.kind != kind::partial) return false;
    ++f.partials;
    if (s.fold != monoid::none) return at.fold == s.fold;
    if (f.fold != monoid::none && f.fold != at.fold) return false;
    f.fold = at.fold;
    return has_monoid(r.folds, at.fold);
  }
  if (o.weak || at.kind != kind_of(s, f, k) || at.dim != dim_of(s)) return false;
  auto& family = f.family[s.partition];
  if (family >= 0 && family != at.family) return false;
  family = at.family;
  if (s.even && !has_even_pieces(o.type, axis, s.even, now)) return false;
  if (at.pattern < 0) return true;
  auto& pattern = f.pattern[s.partition];
  if (pattern >= 0 && pattern != at.pattern) return false;
  pattern = at.pattern;
  return true;
}

/// How many operands fit the rule, and which is the first (other than `lead`) that does not.
struct rule_fit {
  int fitting = 0, other = -1;
  bool all = false;
  slot_bindings filled{};
};
template <class = void>
constexpr rule_fit try_rule(strategy const& s, rule const& r, std::span<operand const> operands, int axis, slot_bindings start,
                       call_context const& now, int lead = -1) {
  rule_fit out;
  out.filled = start;
  int const count = static_cast<int>(operands.size());
  if (lead >= 0 && !fits(s, r, operands[static_cast<std::size_t>(lead)], axis, lead, out.filled, now)) return out;
  for (int k = 0; k < count; ++k) {
    if (k == lead || fits(s, r, operands[static_cast<std::size_t>(k)], axis, k, out.filled, now))
      ++out.fitting;
    else
      out.other = k;
  }
  bool mixing = false, pending = false;
  for (int k = 0; k < count; ++k) pending = pending || r.in[k].kind == slot_kind::partial;
  if (pending && r.mixes) mixing = out.filled.partials < count;
  bool partial_missing = false;
  if (mixing) { // some replicated operand stands in a partial slot: only where folding equal values changes nothing
    int wanted = 0;
    for (int k = 0; k < count; ++k) wanted += r.in[k].kind == slot_kind::partial;
    partial_missing = out.filled.partials < wanted && (out.filled.partials == 0 || !has_monoid(idempotent_monoids, out.filled.fold));
  }
  out.all = out.fitting == count && !partial_missing;
  return out;
}

template <class = void>
constexpr placement_value filled_slot(slot const& s, slot_bindings const& f) {
  if (s.kind == slot_kind::partial) return {placement_kind::partial, s.fold == monoid::none ? f.fold : s.fold};
  if (s.kind == slot_kind::replicate) return {placement_kind::replicate};
  auto const kind = s.kind == slot_kind::shard && f.pending ? placement_kind::ghost_partial : kind_of(s, f, -1);
  placement_value out{kind, monoid::none, static_cast<std::int8_t>(dim_of(s)), f.family[s.partition]};
  if (kind == placement_kind::ghost || kind == placement_kind::ghost_partial) out.pattern = f.pattern[s.partition];
  return out;
}

template <class = void>
constexpr axis_outcome results_of(strategy const& s, rule const& r, slot_bindings const& f) {
  axis_outcome out;
  for (int n = 0; n < s.results; ++n) out.at[n] = filled_slot(r.out[n], f);
  out.implied = r.implied;
  return out;
}

/// Copies of a halo stay consistent under every rule whose results keep the index; contributions to it are a pending
/// sum of which some linear group holds all, and they meet ghosts elsewhere.
constexpr bool keeps_index(strategy const& s, rule const& r) {
  for (int n = 0; n < s.results; ++n)
    if (r.out[n].kind != slot_kind::shard) return false;
  return true;
}
template <class = void>
constexpr bool only_shards(strategy const& s, rule const& r) {
  for (int k = 0; k < s.inputs; ++k)
    if (r.in[k].kind != slot_kind::shard && r.in[k].kind != slot_kind::replicate) return false;
  for (int n = 0; n < s.results; ++n)
    if (r.out[n].kind != slot_kind::shard && r.out[n].fold != monoid::sum) return false;
  return r.implied == communication::none;
}

template <class = void>
constexpr axis_outcome match(strategy const& s, std::span<operand const> operands, int axis, placement_counts const& c,
                             call_context const& now) {
  bool ghosts = false;
  std::uint8_t pending = 0;
  for (int k = 0; k < s.inputs; ++k) {
    auto const& o = operands[static_cast<std::size_t>(k)];
    auto const kind = o.type.on[axis].kind;
    ghosts = ghosts || (!o.weak && kind == placement_kind::ghost);
    if (!o.weak && kind == placement_kind::ghost_partial) pending |= operand_bits(k);
  }
  for (int n = 0; n < s.size; ++n) {
    auto const& r = s.rules[n];
    if (auto const f = try_rule(s, r, operands, axis, {}, now); f.all) return results_of(s, r, f.filled);
    if (s.sparse || !c.sharded) continue;
    slot_bindings start;
    start.as_shard = placement_kind::ghost;
    if (ghosts && !pending && keeps_index(s, r))
      if (auto const f = try_rule(s, r, operands, axis, start, now); f.all) return results_of(s, r, f.filled);
    if (!pending || !only_shards(s, r)) continue;
    start.pending = pending;
    for (int g = 0; g < s.groups; ++g)
      if (s.linear[g] == pending)
        if (auto const f = try_rule(s, r, operands, axis, start, now); f.all) return results_of(s, r, f.filled);
  }
  return refuse(code::no_rule, -1);
}

} // namespace detail
} // namespace sla
