// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transitions: what a collective or a conversion makes of a placement on one axis, which are refused, and the adjoint
// of each, derived from the duals. They are carried out in dist/; rules of operations are in spmd/rules.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/operand.hpp>
#include <sla/spmd/typing.hpp>

namespace sla {

/// What changes a placement. `convert` keeps the value and never communicates; `reinterpret` keeps what each rank holds
/// and changes what it means; the others communicate and keep the value.
enum class step : std::uint8_t {
  convert,
  reinterpret,
  all_reduce,
  all_gather,
  reduce_scatter,
  halo_exchange,
  halo_reduce
};

/// One step on one axis.
struct transition {
  step how = step::convert;
  placed from{}, to{};
  constexpr bool operator==(transition const&) const = default;
};

/// The tag that insists on a transition which is right but rarely meant: `convert<"tp", Invariant>(w, expert)`.
struct expert_t {};
inline constexpr expert_t expert{};

namespace detail {
constexpr bool is_part(placement_kind kind) { // of one value
  return kind == placement_kind::varying || kind == placement_kind::shard || kind == placement_kind::sparse_shard;
}
} // namespace detail

/// The step that keeps the value on the way from one placement to another.
constexpr step route(placed from, placed to) {
  using kind = placement_kind;
  bool const to_copies = to.kind == kind::replicate || to.kind == kind::invariant;
  if (from.kind == kind::partial && to_copies) return step::all_reduce;
  if (from.kind == kind::partial && detail::is_part(to.kind)) return step::reduce_scatter;
  if (detail::is_part(from.kind) && to_copies) return step::all_gather;
  if (from.kind == kind::shard && to.kind == kind::ghost) return step::halo_exchange;
  if (from.kind == kind::ghost_partial && to.kind == kind::shard) return step::halo_reduce;
  return step::convert;
}

namespace detail {

constexpr code check_convert(placement_kind from, placement_kind to, placed a, placed b, bool insisted) {
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
    return to_sum ? gated() : code::local_conversion;
  case kind::shard:
    if (to_sum) return gated();
    // into the zeros of a halo: the dual of dropping a halo
    return to == kind::ghost_partial && a.dim == b.dim && a.family == b.family ? code::ok : code::local_conversion;
  case kind::ghost:
    return to == kind::shard && a.dim == b.dim && a.family == b.family ? code::ok : code::local_conversion;
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
constexpr code check(transition t, bool insisted = false) {
  using kind = placement_kind;
  auto const from = t.from.kind, to = t.to.kind;
  bool const to_copies = to == kind::replicate || to == kind::invariant;
  auto const unless = [](bool fits, code otherwise) { return fits ? code::ok : otherwise; };
  switch (t.how) {
  case step::convert:
    if (t.from == t.to) return code::ok;
    return detail::check_convert(from, to, t.from, t.to, insisted);
  case step::reinterpret:
    if (t.from == t.to) return code::ok;
    if (to == kind::partial && t.to.fold != monoid::sum) return code::local_conversion;
    return detail::check_reinterpret(from, to, insisted);
  case step::all_reduce:
    if (from == kind::replicate || from == kind::invariant || from == kind::varying)
      return code::reduction_of_replicate;
    return unless(from == kind::partial && to_copies, code::wrong_collective);
  case step::reduce_scatter:
    if (from == kind::replicate || from == kind::invariant || from == kind::varying)
      return code::reduction_of_replicate;
    return unless(from == kind::partial && detail::is_part(to), code::wrong_collective);
  case step::all_gather:
    return unless(detail::is_part(from) && to_copies, code::wrong_collective);
  case step::halo_exchange:
  case step::halo_reduce: {
    bool const out = t.how == step::halo_exchange;
    bool const kinds =
        out ? from == kind::shard && to == kind::ghost : from == kind::ghost_partial && to == kind::shard;
    return unless(kinds && t.from.dim == t.to.dim && t.from.family == t.to.family, code::wrong_collective);
  }
  }
  return code::wrong_collective;
}

/// The step that carries a gradient back: dual(to) to dual(from). What keeps the value has an adjoint that keeps the
/// value; the adjoint of a reinterpretation is one. Law: a legal step between placements with duals; then so is the
/// adjoint, and its adjoint is the step itself.
constexpr transition adjoint_of(transition t) {
  placed const from = dual(t.to), to = dual(t.from);
  using kind = placement_kind;
  bool const copies = (t.from.kind == kind::replicate && t.to.kind == kind::invariant) ||
                      (t.from.kind == kind::invariant && t.to.kind == kind::replicate);
  bool const value_kept = t.how != step::reinterpret || copies;
  return {value_kept ? route(from, to) : step::reinterpret, from, to};
}

/// A step on one axis of a tensor: the placements, and the order in which axes share a dimension (the later axis deals
/// out what the earlier one left, so only the last one can be gathered, or added).
constexpr diagnostic check_step(step how, typing const& t, int axis, placed to, bool insisted = false) {
  using kind = placement_kind;
  auto const at = static_cast<std::int8_t>(axis);
  if (auto const why = check(transition{how, t.on[axis], to}, insisted); why != code::ok) return {why, at, 0};
  typing after = t;
  after.on[axis] = to;
  if (auto why = check_placements(after); why.what != code::ok) return why.axis = at, why;
  if (t.on[axis] == to) return {};
  for (int b = axis + 1; b < t.axes; ++b) {
    auto const later = t.on[b];
    if (!is_sharded(later.kind)) continue;
    for (auto const p : {t.on[axis], to})
      if (is_sharded(p.kind) && p.kind != kind::ghost_partial && dealt_dim(p, t) == dealt_dim(later, t))
        return {code::not_innermost, at, 0};
  }
  return {};
}

namespace detail {

template <step How, class T, int Axis, class To, bool Insisted>
consteval diagnostic step_diagnostic() {
  return []<class... P>(placements<P...>) {
    using keys = typename key_list<P..., To>::type;
    return check_step(How, operand_traits<T>::template value<keys>.type, Axis, to_value<To, keys>(), Insisted);
  }(placements_of_t<T>{});
}

template <step How, class T, int Axis, class To, bool Insisted>
inline constexpr diagnostic step_diagnostic_v = step_diagnostic<How, T, Axis, To, Insisted>();

} // namespace detail

/// May the step be taken on the axis Name of a T, to the placement To? The call itself says why not
/// (spmd/diagnose.hpp).
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
