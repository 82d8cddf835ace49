// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refusals in words: one sentence per code, with the axis, the operands and a fix as type names below it. A fix is only
// printed after the rules have accepted it. The decisions are made in spmd/rules.hpp and spmd/transition.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/spmd/transition.hpp>
#include <sla/spmd/well_typed.hpp>

namespace sla {

// The words of a refusal. They are never defined: the compiler prints them.
template <fixed_string Axis>
struct on_axis;
template <int Number, class Is>
struct operand_is;
template <int Number, class Step>
struct wrap_operand;
struct literal_number;

// The steps by name, as a fix says them: `wrap_operand<0, all_reduce_to<"tp", Replicate>>`.
template <fixed_string Axis, class To>
struct convert_to;
template <fixed_string Axis, class To>
struct reinterpret_to;
template <fixed_string Axis, class To>
struct all_reduce_to;
template <fixed_string Axis, class To>
struct all_gather_to;
template <fixed_string Axis, class To>
struct reduce_scatter_to;
template <fixed_string Axis, class To>
struct halo_exchange_to;
template <fixed_string Axis, class To>
struct halo_reduce_to;
template <fixed_string Axis, class To>
struct all_to_all_to;
template <fixed_string Axis, class To>
struct repartition_to;
template <fixed_string Axis, class To>
struct permute_shards_to;
template <fixed_string Axis, class To>
struct assemble_to;

/// A single step on one operand after which the rules accept the call.
struct fix {
  int operand = -1; ///< -1: no single step does it
  step how = step::convert;
  placed to{};
  constexpr bool operator==(fix const&) const = default;
};

namespace detail {

/// Where operand k has the index that `lead` deals out, as a placement of k; untyped if it lacks the index.
constexpr placed same_shard(subscripts const& s, std::span<operand const> o, std::size_t lead, std::size_t k,
                            int axis) {
  auto const dealt = o[lead].type.on[axis];
  auto const letter = s.in[static_cast<int>(lead)][dealt_dim(dealt, o[lead].type)];
  int const d = letter < 0 ? -1 : position(s.in[static_cast<int>(k)], letter);
  if (d < 0) return {};
  auto const batch = o[k].type.batch;
  bool const row_or_column = batch >= 0 && (d == batch || d == batch + 1);
  return {row_or_column ? placement_kind::sparse_shard : placement_kind::shard, monoid::none,
          static_cast<std::int8_t>(row_or_column ? d - batch : d), dealt.family};
}

} // namespace detail

/// The first step, in the order below, that makes a refused call legal: free conversions, then collectives.
constexpr fix suggest(op_rule const& rule, std::span<operand const> operands, diagnostic why) {
  using kind = placement_kind;
  if (why.axis < 0 || why.what == code::no_such_dimension) return {};
  operand trial[max_operands];
  auto const count = operands.size();
  for (std::size_t k = 0; k < count; ++k) trial[k] = operands[k];
  auto const accepted = [&](std::size_t k, step how, placed to) {
    auto const& t = operands[k].type;
    if (operands[k].weak || t.axes == 0 || check_step(how, t, why.axis, to).what != code::ok) return false;
    trial[k].type.on[why.axis] = to;
    auto const now = check(rule, {trial, count});
    trial[k] = operands[k];
    return now.ok() || now.why.axis > why.axis; // this axis is mended; another may need a fix of its own
  };
  placed const replicate{kind::replicate}, invariant{kind::invariant}, partial{kind::partial, monoid::sum};
  struct {
    kind from;
    step how;
    placed to;
  } const candidates[] = {{kind::invariant, step::convert, replicate},
                          {kind::partial, step::all_reduce, replicate},
                          {kind::partial, step::all_reduce, invariant},
                          {kind::replicate, step::convert, partial}};
  for (auto const& c : candidates)
    for (std::size_t k = 0; k < count; ++k)
      if (operands[k].type.on[why.axis].kind == c.from && accepted(k, c.how, c.to))
        return {static_cast<int>(k), c.how, c.to};
  auto const s = detail::subscripts_of(rule, operands);
  for (std::size_t lead = 0; lead < count; ++lead)
    if (auto const at = operands[lead].type.on[why.axis]; at.kind == kind::shard || at.kind == kind::sparse_shard)
      for (std::size_t k = 0; k < count; ++k)
        if (auto const to = detail::same_shard(s, operands, lead, k, why.axis); k != lead && is_sharded(to.kind))
          if (accepted(k, step::convert, to)) return {static_cast<int>(k), step::convert, to};
  for (std::size_t k = count; k-- > 0;) // vectors before the matrix
    if (accepted(k, step::all_gather, replicate)) return {static_cast<int>(k), step::all_gather, replicate};
  return {};
}

namespace detail {

/// Never true; its name and arguments are what a refusal prints.
template <class Facts>
inline constexpr bool placements_allow = false;

/// One error with one sentence; afterwards everything is well formed.
template <code Why, class Facts>
constexpr void refuse() {
  if constexpr (Why == code::invariant_with_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E01]: Invariant meets Replicate or Partial: the values agree, but the gradient of the first "
                  "counts one rank and that of the others all of them. Write convert<axis, Replicate>(i)");
  else if constexpr (Why == code::invariant_with_varying)
    static_assert(placements_allow<Facts>,
                  "sla[E02]: Invariant meets values that differ between ranks (Varying, Shard): its gradient would need"
                  " a sum over the axis that nothing performs. Write convert<axis, Replicate>(i); if the other is a "
                  "shard of the same tensor, convert<axis, Shard<d>>(i)");
  else if constexpr (Why == code::partial_plus_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E03]: a pending sum (Partial) is added to a Replicate, which would be counted once per rank. "
                  "Write all_reduce<axis>(p) + r, or p + convert<axis, Partial<>>(r), which stays Partial");
  else if constexpr (Why == code::partial_plus_literal)
    static_assert(placements_allow<Facts>,
                  "sla[E04]: a number is added to a pending sum (Partial): it would be counted once per rank. Write "
                  "all_reduce<axis>(p) + 1.0; scaling, 2.0 * p, is fine");
  else if constexpr (Why == code::partial_times_partial)
    static_assert(placements_allow<Facts>,
                  "sla[E05]: a product of pending sums is not the pending sum of products. Reduce one factor: "
                  "all_reduce<axis>(p) * q, which is Partial");
  else if constexpr (Why == code::partial_with_varying)
    static_assert(placements_allow<Facts>,
                  "sla[E06]: a pending sum (Partial) meets values that differ between ranks (Varying, Shard). Write "
                  "all_reduce<axis>(p), or reduce_scatter<axis, Shard<d>>(p) if the other is a shard; if the Varying is"
                  " this rank's contribution, reinterpret<axis, Partial<>>(v)");
  else if constexpr (Why == code::nonlinear_in_partial)
    static_assert(placements_allow<Facts>,
                  "sla[E07]: this operation is not additive, so it cannot be applied to the parts of a pending "
                  "reduction (Partial). Apply it to all_reduce<axis>(p), or to reduce_scatter<axis, Shard<d>>(p)");
  else if constexpr (Why == code::nonlinear_argument)
    static_assert(placements_allow<Facts>,
                  "sla[E08]: this operand may not be a pending sum (Partial): a quotient is linear in its numerator "
                  "only, a solve in its right-hand side only. Write all_reduce<axis>(p) there");
  else if constexpr (Why == code::reduction_of_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E10]: the ranks hold no contributions: a Replicate or Invariant is complete (summing it would "
                  "multiply it by the number of ranks), and a Varying has no stated sum. Remove the call; if each rank "
                  "holds a contribution, say so first: reinterpret<axis, Partial<>>(x)");
  else if constexpr (Why == code::wrong_collective)
    static_assert(placements_allow<Facts>,
                  "sla[E11]: this collective does not fit what the ranks hold: all_reduce and reduce_scatter finish a "
                  "Partial, all_gather joins shards, halo_exchange takes a Shard to a Ghost of its family, halo_reduce "
                  "a GhostP back");
  else if constexpr (Why == code::local_conversion)
    static_assert(placements_allow<Facts>,
                  "sla[E12]: no conversion without communication leads there: a Partial needs all_reduce or "
                  "reduce_scatter, a Shard needs all_gather, and Invariant is read as Replicate first");
  else if constexpr (Why == code::unprovable_replicate)
    static_assert(placements_allow<Facts>,
                  "sla[E13]: nothing proves that the ranks hold equal values. Write all_gather<axis>(v) if they are "
                  "pieces; if they are contributions, all_reduce<axis>(reinterpret<axis, Partial<>>(v))");
  else if constexpr (Why == code::expert_only)
    static_assert(placements_allow<Facts>,
                  "sla[E14]: this transition is right but rarely meant: a cheaper or clearer form exists, such as "
                  "all_reduce<axis, Invariant> where the value is made, or reduce_scatter. To insist, pass the tag "
                  "sla::expert");
  else if constexpr (Why == code::different_meshes)
    static_assert(placements_allow<Facts>, "sla[E15]: the operands live on different meshes. Place both on one mesh");
  else if constexpr (Why == code::not_innermost)
    static_assert(placements_allow<Facts>,
                  "sla[E16]: a later axis of the mesh deals out the same dimension: this axis is not the innermost one,"
                  " and its pieces would interleave. Gather the later axis first");
  else if constexpr (Why == code::layouts_differ)
    static_assert(placements_allow<Facts>,
                  "sla[E17]: the operands are not dealt out alike, and no operation redistributes by itself. Write "
                  "convert<axis, Shard<d>>(r) for a Replicate (free), or all_gather<axis>(s)");
  else if constexpr (Why == code::sparse_layouts_differ)
    static_assert(placements_allow<Facts>,
                  "sla[E19]: the vector does not match the partition of the sparse operand: rows, SparseShard<0, F>, "
                  "take x in Shard<0, F> (or Replicate for a product), columns, SparseShard<1, F>, take Shard<0, F> for a "
                  "product (a solve wants rows). Distribute it by the layout of the matrix, or all_gather<axis>(x)");
  else if constexpr (Why == code::no_rule)
    static_assert(placements_allow<Facts>,
                  "sla[E21]: this operation has no placement rule. Specialise rule_of: template <> inline constexpr "
                  "sla::op_rule sla::rule_of<my_op> = {};");
  else if constexpr (Why == code::run_time_number)
    static_assert(placements_allow<Facts>,
                  "sla[E24]: a run-time number has no placement. Write uniform(alpha) if every rank has computed the "
                  "same one, or a literal");
  else if constexpr (Why == code::no_such_dimension)
    static_assert(placements_allow<Facts>,
                  "sla[E29]: the tensor has no such dimension to deal out: Shard<d> counts (*batch, n) of a dense "
                  "tensor and the batch and block dimensions of a sparse one, whose rows and columns are SparseShard<0>"
                  " and SparseShard<1>");
  else if constexpr (Why == code::mixed_monoids)
    static_assert(placements_allow<Facts>,
                  "sla[E31]: two different reductions are pending (a sum beside a maximum, say), and they do not "
                  "commute. all_reduce one of them first");
  else if constexpr (Why == code::reduction_over_ghosts)
    static_assert(placements_allow<Facts>,
                  "sla[E32]: a reduction over a Ghost would count the halo twice. Drop the halo first: convert<axis, "
                  "Shard<d, F>>(x)");
  else if constexpr (Why == code::varying_with_shard)
    static_assert(placements_allow<Facts>,
                  "sla[E33]: a Varying meets a Shard: its ranks hold no parts of one tensor. Give it a meaning first: "
                  "all_gather<axis>(v), or reinterpret<axis, Partial<>>(v) and a reduction");
  else if constexpr (Why == code::reinterpreted_shard)
    static_assert(placements_allow<Facts>,
                  "sla[E34]: a shard cannot be reinterpreted: that would lie about what the ranks hold. Write convert, "
                  "all_gather or reduce_scatter");
  else if constexpr (Why == code::no_placement)
    static_assert(placements_allow<Facts>,
                  "sla[E35]: an operand has no placement (a plain tensor beside a distributed one). Distribute it "
                  "first: distribute(x, layout)");
}

template <step How, fixed_string Axis, class To>
consteval auto step_name() {
  if constexpr (How == step::convert)
    return std::type_identity<convert_to<Axis, To>>{};
  else if constexpr (How == step::reinterpret)
    return std::type_identity<reinterpret_to<Axis, To>>{};
  else if constexpr (How == step::all_reduce)
    return std::type_identity<all_reduce_to<Axis, To>>{};
  else if constexpr (How == step::all_gather)
    return std::type_identity<all_gather_to<Axis, To>>{};
  else if constexpr (How == step::reduce_scatter)
    return std::type_identity<reduce_scatter_to<Axis, To>>{};
  else if constexpr (How == step::halo_exchange)
    return std::type_identity<halo_exchange_to<Axis, To>>{};
  else if constexpr (How == step::all_to_all)
    return std::type_identity<all_to_all_to<Axis, To>>{};
  else if constexpr (How == step::repartition)
    return std::type_identity<repartition_to<Axis, To>>{};
  else if constexpr (How == step::permute_shards)
    return std::type_identity<permute_shards_to<Axis, To>>{};
  else if constexpr (How == step::assemble || How == step::restrict_pattern)
    return std::type_identity<assemble_to<Axis, To>>{};
  else
    return std::type_identity<halo_reduce_to<Axis, To>>{};
}

template <class... T, class... U>
consteval type_list<T..., U...> operator+(type_list<T...>, type_list<U...>) {
  return {};
}

/// What a refusal shows of an operand: its placement on the axis, or itself.
template <int K, class T, int Axis>
consteval auto operand_fact() {
  using traits = operand_traits<T>;
  if constexpr (traits::kind == operand_kind::literal)
    return type_list<operand_is<K, literal_number>>{};
  else if constexpr (Axis >= 0 && traits::kind == operand_kind::distributed)
    return type_list<operand_is<K, placement_on_t<T, Axis>>>{};
  else
    return type_list<operand_is<K, T>>{};
}

template <class Mesh, int Axis>
consteval auto axis_fact() {
  if constexpr (Axis >= 0)
    return type_list<on_axis<Mesh::template name_string<Axis>()>>{};
  else
    return type_list<>{};
}

template <fix F, class Mesh, int Axis, class Keys>
consteval auto fix_fact() {
  if constexpr (F.operand >= 0) {
    using To = placement_at<F.to, Keys>;
    using Step = typename decltype(step_name<F.how, Mesh::template name_string<Axis>(), To>())::type;
    return type_list<wrap_operand<F.operand, Step>>{};
  } else {
    return type_list<>{};
  }
}

template <class Op, class Numbers, class... Ts>
struct call_refusal;
template <class Op, int... K, class... Ts>
struct call_refusal<Op, std::integer_sequence<int, K...>, Ts...> {
  using call = typed_call<Op, Ts...>;
  static constexpr diagnostic why = call::value.why;
  static constexpr fix mended = suggest(rule_of<Op>, {call::operands, sizeof...(Ts)}, why);
  using facts = decltype((type_list<Op>{} + ... + operand_fact<K, Ts, why.axis>()) +
                         axis_fact<typename call::mesh_type, why.axis>() +
                         fix_fact<mended, typename call::mesh_type, why.axis, typename call::keys>());
};

} // namespace detail

/// The law of every operation on distributed operands: nothing if the call is well typed, else one error with one
/// sentence.
template <class Op, class... Ts>
constexpr void require_well_typed() {
  if constexpr (!well_typed<Op, Ts...>) {
    using refusal =
        detail::call_refusal<Op, std::make_integer_sequence<int, sizeof...(Ts)>, std::remove_cvref_t<Ts>...>;
    detail::refuse<refusal::why.what, typename refusal::facts>();
  }
}

/// The law of the collectives and conversions: nothing if the step may be taken on the axis Name of a T, else one
/// error.
template <step How, class T, fixed_string Name, Placement To, bool Insisted = false>
constexpr void require_step() {
  constexpr int at = mesh_of_t<T>::template index<Name>();
  if constexpr (mesh_of_t<T>::find(Name.view()) == at && !legal_step<How, T, Name, To, Insisted>) {
    using Step = typename decltype(detail::step_name<How, Name, To>())::type;
    using Facts = detail::type_list<Step, on_axis<Name>, operand_is<0, placement_on_t<T, at>>>;
    detail::refuse<detail::step_diagnostic_v<How, std::remove_cvref_t<T>, at, To, Insisted>.what, Facts>();
  }
}

/// The law of a type `distributed<Local, Mesh, P...>`: one placement per mesh axis, each on a dimension that Local has.
template <class Local, class Mesh, class... P>
constexpr void require_placements() {
  static_assert(
      sizeof...(P) == Mesh::rank,
      "sla: a distributed value has one placement per mesh axis, in the order of the mesh; axes of size 1 count");
  if constexpr (sizeof...(P) == Mesh::rank) {
    using keys = typename detail::key_list<P...>::type;
    constexpr diagnostic why = check_placements(detail::distributed_operand<keys, Local, Mesh, P...>().type);
    if constexpr (why.what != code::ok) {
      using Refused = typename detail::placement_number<why.axis, placements<P...>>::type;
      using Facts = detail::type_list<Local, on_axis<Mesh::template name_string<why.axis>()>, operand_is<0, Refused>>;
      detail::refuse<why.what, Facts>();
    }
  }
}

} // namespace sla
