// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transitions: what a collective or a conversion makes of a placement on one axis, which are refused, and the adjoint
// of each, derived from the duals. They are carried out in dist/; rules of operations are in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/placement/order.hpp>
#include <sla/spmd/placement/placement_values.hpp>

namespace sla {

/// What changes a placement. `convert` keeps the value and never communicates; `reinterpret` keeps what each rank holds
/// and changes what it means; the others communicate and keep the value, all but all_to_all of a Varying.
enum class step : std::uint8_t {
  convert,
  reinterpret,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,     ///< another dimension is sharded; of a Varying: the blocks of all ranks are transposed
  repartition,    ///< the same dimension is sharded by another family
  permute_shards, ///< two axes that shard one dimension change places
  halo_exchange,
  halo_reduce,
  assemble,        ///< unassembled sparse terms: their patterns are united, values of one entry added
  restrict_pattern ///< its adjoint: each rank keeps the entries of its own pattern
};
/// The number of kinds of steps.
inline constexpr int step_count = 12;

/// One step on one axis.
struct transition {
  step how = step::convert;
  placement_value from{}, to{};
  constexpr bool operator==(transition const&) const = default;
};

/// The tag that insists on a transition which is right but rarely meant: `convert<"tp", Invariant>(w, expert)`.
struct expert_t {};
/// The value of `expert_t`.
inline constexpr expert_t expert{};
/// The last argument of a step that does not wait: `all_gather<"tp">(x, async)`.
struct async_t {};
/// The value of `async_t`: `auto pending = all_gather<"tp">(x, async); ... std::move(pending).wait()`.
inline constexpr async_t async{};

namespace detail {
constexpr bool is_part(placement_kind kind) { // of one value
  return kind == placement_kind::varying || kind == placement_kind::shard ||
         kind == placement_kind::sparse_shard || kind == placement_kind::hyper;
}
constexpr bool is_entries(placement_kind kind) {
  return kind == placement_kind::sparse_shard || kind == placement_kind::hyper;
}
/// Do both shard one dimension by one family?
constexpr bool same_shares(placement_value a, placement_value b) { return a.dim == b.dim && a.family == b.family; }
} // namespace detail

/// The step that keeps the value on the way from one placement to another.
template <class = void>
constexpr step route(placement_value from, placement_value to) {
  using kind = placement_kind;
  auto const a = from.kind, b = to.kind;
  bool const to_parts = detail::is_part(b) || b == kind::ghost_partial;
  if (a == kind::partial && is_copied(b)) return step::all_reduce;
  if (a == kind::partial && to_parts) return step::reduce_scatter;
  if ((detail::is_part(a) || a == kind::ghost) && is_copied(b)) return step::all_gather;
  if (a == kind::shard && b == kind::ghost) return step::halo_exchange;
  if (a == kind::ghost_partial && b == kind::shard) return step::halo_reduce;
  if (a == kind::shard && b == kind::shard && from.dim != to.dim) return step::all_to_all;
  if (a == kind::shard && b == kind::shard && from.family != to.family) return step::repartition;
  if (a == kind::shard && b == kind::shard && from.level != to.level) return step::permute_shards;
  if (detail::is_entries(a) && detail::is_entries(b) && from != to) return step::repartition;
  return step::convert;
}

namespace detail {

template <class = void>
constexpr code check_convert(placement_kind from, placement_kind to, placement_value a, placement_value b, bool insisted) {
  using kind = placement_kind;
  auto const gated = [&] { return insisted ? code::ok : code::expert_only; };
  bool const to_sum = to == kind::partial && b.fold == monoid::sum;
  switch (from) {
  case kind::replicate:
    if (to == kind::invariant) return gated();
    return is_part(to) || to_sum || to == kind::ghost ? code::ok : code::local_conversion;
  case kind::invariant:
    if (to_sum) return gated();
    return is_part(to) || to == kind::replicate ? code::ok : code::local_conversion;
  case kind::varying:
  case kind::sparse_shard:
  case kind::hyper:
    return to_sum ? gated() : code::local_conversion;
  case kind::shard:
    if (to_sum) return gated();
    // into the zeros of a halo: the dual of dropping a halo
    return to == kind::ghost_partial && same_shares(a, b) ? code::ok : code::local_conversion;
  case kind::ghost:
    return to == kind::shard && same_shares(a, b) ? code::ok : code::local_conversion;
  case kind::ghost_partial:
    return to_sum ? code::ok : code::local_conversion;
  default:
    return code::local_conversion; // out of a pending sum
  }
}

constexpr code check_reinterpret(placement_kind from, placement_kind to, bool insisted) {
  using kind = placement_kind;
  if (from == kind::partial) return code::local_conversion;
  if (is_sharded(from) || is_sharded(to)) return code::reinterpreted_shard;
  if (from == kind::varying) return to == kind::partial ? code::ok : code::unprovable_replicate;
  if (from == kind::invariant && to != kind::replicate) return code::local_conversion; // one step, one adjoint
  return insisted ? code::ok : code::expert_only;
}

} // namespace detail

/// Is the step allowed between these placements? `insisted`: the caller gave the expert tag.
template <class = void>
constexpr code check(transition t, bool insisted = false) {
  using kind = placement_kind;
  auto const from = t.from.kind, to = t.to.kind;
  bool const to_copies = is_copied(to), shards = from == kind::shard && to == kind::shard;
  auto const unless = [](bool fits, code otherwise) { return fits ? code::ok : otherwise; };
  switch (t.how) {
  case step::convert:
    if (t.from == t.to) return code::ok;
    return detail::check_convert(from, to, t.from, t.to, insisted);
  case step::reinterpret:
    if (t.from == t.to && !is_sharded(from)) return code::ok;
    if (to == kind::partial && t.to.fold != monoid::sum) return code::local_conversion;
    return detail::check_reinterpret(from, to, insisted);
  case step::all_reduce:
    if (is_copied(from) || from == kind::varying) return code::reduction_of_replicate;
    return unless(from == kind::partial && to_copies, code::wrong_collective);
  case step::reduce_scatter:
    if (is_copied(from) || from == kind::varying) return code::reduction_of_replicate;
    if (from == kind::partial && to == kind::ghost_partial)
      return unless(t.from.fold == monoid::sum, code::wrong_collective);
    return unless(from == kind::partial && detail::is_part(to), code::wrong_collective);
  case step::all_gather:
    if (from == kind::ghost) return unless(to == kind::replicate, code::wrong_collective);
    return unless(detail::is_part(from) && to_copies, code::wrong_collective);
  case step::all_to_all:
    if (from == kind::varying) return unless(to == kind::varying, code::wrong_collective);
    // Within one dimension the blocks change their meaning: only the family of the target says what they are now.
    return unless(shards && (t.from.dim != t.to.dim || t.from.family != t.to.family), code::wrong_collective);
  case step::repartition: {
    bool const entries = detail::is_entries(from) && detail::is_entries(to);
    bool const differ = t.from.family != t.to.family || from != to || t.from.dim != t.to.dim;
    return unless(differ && (entries || (shards && t.from.dim == t.to.dim)), code::wrong_collective);
  }
  case step::permute_shards:
    return unless(shards && detail::same_shares(t.from, t.to) && t.from.level != t.to.level, code::wrong_collective);
  case step::assemble:
    return unless(from == kind::partial && t.from.fold == monoid::sum && (to_copies || to == kind::sparse_shard),
                  code::wrong_collective);
  case step::restrict_pattern: // the duals of those
    return unless((from == kind::partial || from == kind::invariant || from == kind::sparse_shard) &&
                      (from != kind::partial || t.from.fold == monoid::sum) && to == kind::replicate,
                  code::wrong_collective);
  case step::halo_exchange:
  case step::halo_reduce: {
    bool const out = t.how == step::halo_exchange;
    bool const kinds =
        out ? from == kind::shard && to == kind::ghost : from == kind::ghost_partial && to == kind::shard;
    return unless(kinds && detail::same_shares(t.from, t.to), code::wrong_collective);
  }
  }
  return code::wrong_collective;
}

/// The step that carries a gradient back: dual(to) to dual(from). What keeps the value has an adjoint that keeps the
/// value; the adjoint of a reinterpretation is one. Law: a legal step between placements with duals; then so is the
/// adjoint, and its adjoint is the step itself.
template <class = void>
constexpr transition adjoint_of(transition t) {
  placement_value const from = dual(t.to), to = dual(t.from);
  switch (t.how) {
  case step::reinterpret: {
    bool const copies = is_copied(t.from.kind) && is_copied(t.to.kind);
    return {copies ? route(from, to) : step::reinterpret, from, to};
  }
  case step::all_to_all: // in one dimension route would say repartition, of a Varying nothing
    return {step::all_to_all, from, to};
  case step::assemble:
    return {step::restrict_pattern, from, to};
  case step::restrict_pattern:
    return {step::assemble, from, to};
  default:
    return {route(from, to), from, to};
  }
}

/// A step on one axis of a tensor: the placements, and the order in which axes share a dimension (an inner axis shards
///  what an outer one left, so only the innermost one can be gathered, or added). Shards change their places only
/// among axes that share the dimension.
template <class = void>
constexpr diagnostic check_step(step how, tensor_placement const& t, int axis, placement_value to, bool insisted = false) {
  using kind = placement_kind;
  auto const at = static_cast<std::int8_t>(axis);
  if (auto const why = check(transition{how, t.on[axis], to}, insisted); why != code::ok) return {why, at, 0};
  tensor_placement after = t;
  after.on[axis] = to;
  if (auto why = check_placements(after); why.what != code::ok) return why.axis = at, why;
  if (how == step::assemble && !t.is_sparse()) return {code::wrong_collective, at, 0};
  if (t.on[axis] == to) return {};
  bool shared = false;
  tensor_placement const* const sides[] = {&t, &after};
  for (int b = 0; b < t.axes; ++b) {
    if (b == axis || !is_sharded(t.on[b].kind)) continue;
    for (auto const* side : sides) {
      auto const p = side->on[axis];
      if (!is_sharded(p.kind) || p.kind == kind::ghost_partial || sharded_dim(p, t) != sharded_dim(t.on[b], t)) continue;
      shared = true;
      if (how != step::permute_shards && is_outer(*side, axis, b)) return {code::not_innermost, at, 0};
    }
  }
  if (how == step::permute_shards && !shared) return {code::wrong_collective, at, 0};
  return {};
}

namespace detail {

/// How many indices of a T the placement To would shard along the axis, what outer axes leave of them; dyn where the
/// type does not tell, or To shards none.
template <class T, int Axis, class To>
consteval index_t extent_to_shard() {
  if constexpr (To::kind == placement_kind::shard && requires { local_of_t<T>::extents_type::static_extent(0); }) {
    using From = placement_on_t<T, Axis>;
    using E = typename local_of_t<T>::extents_type;
    constexpr index_t ranks = mesh_of_t<T>::static_size(Axis);
    if constexpr (To::dim >= 0 && To::dim < E::rank && ranks != dyn) {
      constexpr index_t held = E::static_extent(To::dim);
      if constexpr (held == dyn || From::kind == placement_kind::ghost || From::kind == placement_kind::ghost_partial)
        return dyn;
      else if constexpr (From::kind == placement_kind::shard)
        return From::dim != To::dim ? held : From::family::even ? held * ranks : dyn;
      else
        return held;
    }
  }
  return dyn;
}

/// Can the family of To not shard what the type says?
template <class T, int Axis, class To>
consteval bool is_indivisible() {
  constexpr index_t extent = extent_to_shard<T, Axis, To>();
  if constexpr (extent != dyn && StatedFamily<typename keys<To>::family>)
    return !To::family::accepts(extent, static_cast<int>(mesh_of_t<T>::static_size(Axis)));
  return false;
}

template <step How, class T, int Axis, class To, bool Insisted>
consteval diagnostic step_diagnostic() {
  using keys = typename joined_keys<placements_of_t<T>, placements<To>>::type;
  auto const why = check_step(How, operand_traits<T>::template value<keys>.type, Axis, to_value<To, keys>(), Insisted);
  if (why.what == code::ok && is_indivisible<T, Axis, To>())
    return {code::indivisible, static_cast<std::int8_t>(Axis), 0};
  return why;
}

template <step How, class T, int Axis, class To, bool Insisted>
inline constexpr diagnostic step_diagnostic_v = step_diagnostic<How, T, Axis, To, Insisted>();

} // namespace detail

/// May the step be taken on the axis Name of a T, to the placement To? The call itself says why not
/// (spmd/refusal/diagnose.hpp).
template <step How, class T, fixed_string Name, class To, bool Insisted = false>
concept legal_step = Distributed<T> && Placement<To> &&
                     detail::step_diagnostic_v<How, std::remove_cvref_t<T>, mesh_of_t<T>::template index<Name>(), To,
                                               Insisted>.what == code::ok;

/// The step that `redistribute` takes on one axis.
template <Placement From, Placement To>
inline constexpr step route_v = [] {
  using keys = typename detail::key_list<From, To>::type;
  return route(detail::to_value<From, keys>(), detail::to_value<To, keys>());
}();

} // namespace sla
