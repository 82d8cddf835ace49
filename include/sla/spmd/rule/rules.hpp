// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decision: which placements an operation accepts, and the placements of its results, axis by axis from its
// strategy and then across axes. Strategies are in spmd/rule/table/, the sentences of the refusals in
// spmd/refusal/diagnose.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/placement/order.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/rule/match.hpp>
#include <sla/spmd/rule/table/library.hpp>
#include <sla/spmd/rule/table/op_rule.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {

/// The placements of a result and what its computation communicates on each axis, or the reason of a refusal.
struct placement_outcome {
  tensor_placement type{};
  fixed_array<communication, max_mesh_axes> implied{};
  diagnostic why{};
  fixed_array<tensor_placement, max_results - 1> more{}; ///< of the second result and further ones
  constexpr bool ok() const { return why.what == code::ok; }
};

namespace detail {

/// Why pending reductions are refused where no operand is sharded.
template <class = void>
constexpr axis_outcome refuse_partial(strategy const& s, std::span<operand const> operands, placement_counts const& c) {
  if (c.mixed) return refuse(code::mixed_monoids, c.last_partial);
  if (!is_sum(c.fold) || s.groups == 0) return refuse(code::nonlinear_in_partial, c.last_partial);
  std::uint8_t anywhere = 0, common = 0xff;
  for (int g = 0; g < s.groups; ++g) anywhere |= s.linear[g], common &= s.linear[g];
  for (int k = s.inputs - 1; k >= 0; --k)
    if (c.partials >> k & 1 && !(anywhere >> k & 1)) return refuse(code::nonlinear_argument, k);
  bool const fused = s.groups > 1 && common;
  for (int g = 0; g < s.groups; ++g) {
    if ((s.linear[g] & c.partials) != c.partials) continue;
    for (int k = 0; k < s.inputs; ++k) {
      bool const missing = s.linear[g] >> k & 1 && !(c.partials >> k & 1);
      if (missing && !operands[static_cast<std::size_t>(k)].weak)
        return refuse(fused ? code::partial_product_plus_replicate : code::partial_plus_replicate, c.last_partial);
    }
    return refuse(code::partial_plus_literal, c.last_partial);
  }
  bool const all_of_fused = fused && (c.partials & common);
  return refuse(fused && !all_of_fused ? code::partial_product_plus_replicate : code::partial_times_partial,
                c.last_partial);
}

/// Why shards are refused: the operand that disagrees with the first sharded one.
template <class = void>
constexpr axis_outcome refuse_shards(strategy const& s, std::span<operand const> operands, int axis, placement_counts const& c,
                                     call_context const& now) {
  auto const differ = s.sparse ? code::sparse_layouts_differ : code::layouts_differ;
  if (c.invariant) return refuse(code::invariant_with_varying, c.last_invariant);
  if (c.varying) return refuse(code::varying_with_shard, c.first_varying);
  if (c.partial) return refuse(code::partial_with_varying, c.last_partial);
  if (c.first_ghost_partial >= 0) return refuse(code::sparse_layouts_differ, c.first_ghost_partial);
  rule_fit best;
  bool folded = false;
  bool const ghost = operands[static_cast<std::size_t>(c.lead)].type.on[axis].kind == placement_kind::ghost;
  for (int n = 0; n < s.size; ++n) {
    slot_bindings start;
    if (ghost) start.as_shard = placement_kind::ghost;
    auto const f = try_rule(s, s.rules[n], operands, axis, start, now, c.lead);
    if (f.fitting <= best.fitting) continue;
    best = f;
    folded = s.rules[n].out[0].kind != slot_kind::shard;
  }
  if (best.fitting > 0 && best.other >= 0) return refuse(differ, best.other);
  if (ghost && best.fitting > 0 && folded && !s.sparse) return refuse(code::reduction_over_ghosts, c.lead);
  return refuse(differ, c.lead);
}

/// One axis of a call. The order of the tests decides which refusal is reported.
template <class = void>
constexpr axis_outcome decide(strategy const& s, std::span<operand const> operands, int axis,
                              call_context const& now) {
  using kind = placement_kind;
  auto const c = count(s, operands, axis);
  bool const on_request = now.out_partial >> axis & 1;
  if (now.global_axes >> axis & 1 && c.varying) return refuse(code::varying_with_shard, c.first_varying);
  if (s.basis == result_basis::drawn && c.partial) return refuse(code::nonlinear_in_partial, c.last_partial);
  if (s.basis == result_basis::random || s.basis == result_basis::drawn) return everywhere({}, s.results);
  if (s.basis == result_basis::constant && (!c.sharded || s.size == 0)) return everywhere({kind::replicate}, s.results);
  if (c.untyped) return now.permissive ? everywhere({}, s.results) : refuse(code::no_placement, c.first_untyped);
  if (!c.sharded) {
    if (c.invariant && c.varying) return refuse(code::invariant_with_varying, c.last_invariant);
    if (c.invariant && (c.replicate || c.partial)) return refuse(code::invariant_with_replicate, c.last_invariant);
    if (c.invariant) return on_request ? refuse(code::unstated_partial, -1) : everywhere({kind::invariant}, s.results);
    if (!c.partial && c.varying)
      return everywhere(on_request ? placement_value{kind::partial, monoid::sum} : placement_value{kind::varying}, s.results);
    bool const invariant = c.free > 0 && c.free == c.free_invariant && !c.replicate; // whichever they are, if alone
    if (!c.partial)
      return on_request ? refuse(code::unstated_partial, -1)
                        : everywhere({invariant ? kind::invariant : kind::replicate}, s.results);
    if (c.varying) return refuse(code::partial_with_varying, c.last_partial);
  }
  auto const found = match(s, operands, axis, c, now);
  if (found.why != code::ok)
    return c.sharded ? refuse_shards(s, operands, axis, c, now) : refuse_partial(s, operands, c);
  bool const pending = found.at[0].kind == kind::partial;
  if (on_request && !pending) return refuse(code::unstated_partial, -1);
  if (pending && !c.partial && !on_request && now.explicit_partial >> axis & 1)
    return refuse(code::unstated_partial, c.lead);
  return found;
}

/// Of two operands that shard one dimension over the same two axes, both must nest them alike.
template <class = void>
constexpr diagnostic check_order(std::span<operand const> operands, int axes) {
  int n = 0;
  for (auto const& o : operands) {
    for (int a = 0; a < axes; ++a)
      for (int b = a + 1; b < axes; ++b) {
        if (!share_dimension(o.type, a, b)) continue;
        bool const mine = is_outer(o.type, a, b);
        for (int k = 0; k < n; ++k) {
          auto const& other = operands[static_cast<std::size_t>(k)].type;
          if (share_dimension(other, a, b) && is_outer(other, a, b) != mine)
            return {code::layouts_differ, static_cast<std::int8_t>(b), static_cast<std::int8_t>(n)};
        }
      }
    ++n;
  }
  return {};
}

/// The halos of a sparse operand name whole entries of a vector: no other axis shards that dimension. `owned`: a
/// halo of what the axis shards is exchanged.
constexpr bool cuts_halo(tensor_placement const& t, int axis, bool owned = false) {
  auto const kind = t.on[axis].kind;
  if (!owned && kind != placement_kind::ghost && kind != placement_kind::ghost_partial) return false;
  for (int b = 0; b < t.axes; ++b)
    if (b != axis && share_dimension(t, axis, b)) return true;
  return false;
}

/// A dimension of the result that two axes shard is one index of the operands; by rows and by columns (of a
/// diagonal) the parts do not nest.
template <class = void>
constexpr diagnostic check_sparse_result(tensor_placement const& made, std::span<operand const> operands) {
  for (int a = 0; a < made.axes; ++a) {
    if (cuts_halo(made, a)) return {code::not_innermost, static_cast<std::int8_t>(a), -1};
    for (int b = a + 1; b < made.axes; ++b) {
      std::int8_t k = 0;
      for (auto const& o : operands) {
        bool const both = o.type.on[a].kind == placement_kind::sparse_shard && o.type.on[b].kind == o.type.on[a].kind;
        if (share_dimension(made, a, b) && both && !share_dimension(o.type, a, b))
          return {code::sparse_layouts_differ, static_cast<std::int8_t>(b), k};
        ++k;
      }
    }
  }
  return {};
}

/// Axes that shard one dimension of a result nest as they do in the operands, and else in the order of the mesh.
template <class = void>
constexpr bool set_order(tensor_placement& t, std::span<operand const> operands) {
  return sort_axes(t, [&](int a, int b) {
    for (auto const& o : operands)
      if (share_dimension(o.type, a, b)) return is_outer(o.type, a, b) ? -1 : 1;
    return 0;
  });
}

} // namespace detail

/// The placements of the results of an operation with this strategy, or why there are none. A pure function: tests are
/// loops over it. Law: every axis is decided alone, then pending reductions must commute and axes of one dimension must
/// nest alike; no operation chooses communication beyond `placement_outcome::implied`.
template <class = void>
constexpr placement_outcome check(strategy const& s, std::span<operand const> operands, call_context const& now = {}) {
  placement_outcome out;
  if (!s.known || s.inputs != static_cast<int>(operands.size())) return out.why.what = code::no_rule, out;
  int axes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].type.axes > axes) axes = operands[k].type.axes;
    auto why = check_placements(operands[k].type);
    if (why.what != code::ok) return why.operand = static_cast<std::int8_t>(k), out.why = why, out;
  }
  fixed_array<tensor_placement, max_results> made;
  for (int n = 0; n < s.results; ++n) {
    made[n].axes = static_cast<std::int8_t>(axes);
    made[n].rank = s.result_rank[n];
    made[n].batch = s.result_batch[n];
  }
  for (int a = 0; a < axes; ++a) {
    auto const one = detail::decide(s, operands, a, now);
    auto const refuse = [&](code why, int k) {
      out.why = {why, static_cast<std::int8_t>(a), static_cast<std::int8_t>(k)};
    };
    if (one.why != code::ok) return refuse(one.why, one.operand), out;
    for (int n = 0; n < s.results; ++n) made[n].on[a] = one.at[n];
    out.implied[a] = one.implied;
    bool const whole_entries = one.implied == communication::halo || one.implied == communication::reverse_halo ||
                               one.implied == communication::halo_and_back || one.implied == communication::solver;
    if (!s.sparse) continue;
    for (int k = 0; k < s.inputs; ++k)
      if (detail::cuts_halo(operands[static_cast<std::size_t>(k)].type, a, whole_entries && k == 1))
        return refuse(code::not_innermost, k), out;
  }
  if (axes > 1)
    if (out.why = detail::check_order(operands, axes); !out.ok()) return out;
  for (int n = 0; n < s.results; ++n) {
    if (auto why = check_placements(made[n]); why.what != code::ok) return why.operand = -1, out.why = why, out;
    if (axes > 1 && !detail::set_order(made[n], operands)) return out.why = {code::layouts_differ, -1, -1}, out;
    if (axes > 1 && s.sparse)
      if (out.why = detail::check_sparse_result(made[n], operands); !out.ok()) return out;
  }
  out.type = made[0];
  for (int n = 1; n < s.results; ++n) out.more[n - 1] = made[n];
  bool gradient = false; // without any, a Replicate may be written where an Invariant was, and the reverse
  for (auto const& o : operands) gradient = gradient || (o.gradient && !o.weak && s.differentiable);
  if (now.in_place >= 0)
    for (int a = 0; a < axes; ++a) {
      auto const& self = operands[static_cast<std::size_t>(now.in_place)].type.on[a];
      bool const copies = is_copied(self.kind) && is_copied(out.type.on[a].kind);
      if (!gradient && copies) out.type.on[a] = self;
      if (!(self == out.type.on[a]))
        return out.why = {code::changed_in_place, static_cast<std::int8_t>(a), now.in_place}, out;
    }
  return out;
}

/// May the program branch on the value, or take it as a number of the host? Only if every rank has the same.
constexpr diagnostic check_branch(tensor_placement const& t) {
  for (int a = 0; a < t.axes; ++a)
    if (!is_copied(t.on[a].kind)) return {code::uneven_branch, static_cast<std::int8_t>(a), 0};
  return {};
}

/// `check` for an expression of the library.
template <class = void>
constexpr placement_outcome check(op_rule const& rule, std::span<operand const> operands, call_context const& now = {}) {
  placement_outcome out;
  if (!rule.known) return out.why.what = code::no_rule, out;
  return check(strategy_of(rule, operands), operands, now);
}

} // namespace sla
