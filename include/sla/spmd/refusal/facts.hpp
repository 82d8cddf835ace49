// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The facts of a refusal as type names, which every compiler prints in full: the operation, what each operand is on the
// axis, and the calls to insert. The sentence above them is in spmd/refusal/sentences.hpp, the search for fixes in
// spmd/refusal/fixes.hpp.
#pragma once

#include <span>
#include <type_traits>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/spmd/refusal/fixes.hpp>
#include <sla/spmd/refusal/mesh_hint.hpp>
#include <sla/spmd/rule/well_typed.hpp>

namespace sla {

// The words of a refusal. They are never defined: the compiler prints them.
template <fixed_string Axis>
struct on_axis;
template <int Number, class Is>
struct operand_is;
struct literal_number;
template <std::int64_t Indices, std::int64_t Ranks>
struct indices_for_ranks;
template <class... Calls>
struct fix_by; // all of them, in this order
template <int Number, class Call>
struct wrap_operand;
struct remove_the_call;
template <class Call>
struct with_tag_expert;
template <class Call>
struct with_matrix; // a second argument: the one whose halo it is
template <class Call>
struct with_layout; // a second argument: the layout that has the partition

/// The calls to insert, by the names of the functions that take the steps: `wrap_operand<0, call::all_reduce<"tp",
/// Replicate>>` says all_reduce<"tp", Replicate>(first operand).
namespace call {
template <fixed_string Axis, class To>
struct convert;
template <fixed_string Axis, class To>
struct reinterpret;
template <fixed_string Axis, class To>
struct all_reduce;
template <fixed_string Axis, class To>
struct all_gather;
template <fixed_string Axis, class To>
struct reduce_scatter;
template <fixed_string Axis, class To>
struct all_to_all;
template <fixed_string Axis, class To>
struct repartition;
template <fixed_string Axis, class To>
struct permute_shards;
template <fixed_string Axis, class To>
struct halo_exchange;
template <fixed_string Axis>
struct halo_reduce;
template <fixed_string Axis>
struct owned;
template <fixed_string Axis, class To>
struct restrict_to;
template <fixed_string Axis>
struct embed;
template <fixed_string Axis, class To>
struct assemble;
template <fixed_string Axis, class To>
struct restrict_pattern;
} // namespace call

namespace detail {

template <step How, fixed_string Axis, placement_kind From, class To>
consteval auto call_name() {
  using std::type_identity;
  using kind = placement_kind;
  if constexpr (How == step::convert && From == kind::ghost)
    return type_identity<call::owned<Axis>>{};
  else if constexpr (How == step::convert && To::kind == kind::ghost)
    return type_identity<with_matrix<call::restrict_to<Axis, To>>>{};
  else if constexpr (How == step::convert && From == kind::ghost_partial)
    return type_identity<call::embed<Axis>>{};
  else if constexpr (How == step::convert)
    return type_identity<call::convert<Axis, To>>{};
  else if constexpr (How == step::reinterpret)
    return type_identity<call::reinterpret<Axis, To>>{};
  else if constexpr (How == step::all_reduce)
    return type_identity<call::all_reduce<Axis, To>>{};
  else if constexpr (How == step::all_gather)
    return type_identity<call::all_gather<Axis, To>>{};
  else if constexpr (How == step::reduce_scatter)
    return type_identity<call::reduce_scatter<Axis, To>>{};
  else if constexpr (How == step::all_to_all)
    return type_identity<call::all_to_all<Axis, To>>{};
  else if constexpr (How == step::repartition)
    return type_identity<call::repartition<Axis, To>>{};
  else if constexpr (How == step::permute_shards)
    return type_identity<call::permute_shards<Axis, To>>{};
  else if constexpr (How == step::halo_exchange)
    return type_identity<with_matrix<call::halo_exchange<Axis, To>>>{};
  else if constexpr (How == step::halo_reduce)
    return type_identity<call::halo_reduce<Axis>>{};
  else if constexpr (How == step::assemble)
    return type_identity<call::assemble<Axis, To>>{};
  else
    return type_identity<call::restrict_pattern<Axis, To>>{};
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

template <class To>
consteval bool is_found() { // its partition is not known from the type
  if constexpr (HasFamily<To>)
    return !To::family::stated;
  else
    return false;
}

/// One step of a fix as the call that takes it.
template <class Mesh, class Keys, step How, int Axis, placement_value From, placement_value To, bool Insisted>
consteval auto call_fact() {
  using Target = placement_at<To, Keys>;
  using Call = typename decltype(call_name<How, Mesh::template name_string<Axis>(), From.kind, Target>())::type;
  if constexpr (Insisted)
    return std::type_identity<with_tag_expert<Call>>{};
  else if constexpr (companion_of({How, From, To}, is_found<Target>()) == step_companion::layout)
    return std::type_identity<with_layout<Call>>{};
  else
    return std::type_identity<Call>{};
}
template <class Mesh, class Keys, inserted_call S>
using call_fact_t =
    typename decltype(call_fact<Mesh, Keys, S.step.how, S.axis, S.step.from, S.step.to, S.insisted>())::type;

/// A refused call of an operation: why, the fixes, and all of it as type names.
template <class Op, class Numbers, class... Ts>
struct call_refusal;
template <class Op, int... K, class... Ts>
struct call_refusal<Op, std::integer_sequence<int, K...>, Ts...> {
  using call = typed_call<Op, Ts...>;
  using mesh_type = typename call::mesh_type;
  using keys = typename call::keys;
  static constexpr diagnostic why = call::value.why;
  /// Plain, uniform and literal numbers have no placement to change.
  static constexpr unsigned unmovable = ((operand_traits<Ts>::kind == operand_kind::distributed ? 0u : 1u << K) | ...);

  static constexpr suggested_fixes mended = [] {
    if constexpr (why.axis < 0)
      return suggested_fixes{};
    else
      return suggest(
          [](std::span<operand const> o) {
            return check(rule_of<Op>, o, call_context_for<typename call::rule_type, mesh_type, keys>());
          },
          {call::operands, sizeof...(Ts)}, why, unmovable);
  }();

  template <int F, int... Step>
  static consteval auto fix_fact(std::integer_sequence<int, Step...>) {
    constexpr auto const& f = mended.best[F];
    return type_list<fix_by<wrap_operand<f.steps[Step].operand, call_fact_t<mesh_type, keys, f.steps[Step]>>...>>{};
  }
  template <int... F>
  static consteval auto fix_facts(std::integer_sequence<int, F...>) {
    return (type_list<>{} + ... + fix_fact<F>(std::make_integer_sequence<int, mended.best[F].size>{}));
  }

  static consteval auto mesh_fact() { // of an operand on another mesh
    if constexpr (why.what == code::different_meshes && why.operand >= 0) {
      using Theirs = typename operand_traits<typename type_at_index<why.operand, Ts...>::type>::mesh_type;
      using Hint = typename mesh_hint_of<call, mesh_type, Theirs, why.operand,
                                         call_context_for<typename call::rule_type, mesh_type, keys>().even_families>::type;
      if constexpr (std::is_void_v<Hint>)
        return type_list<>{};
      else
        return type_list<wrap_operand<why.operand, Hint>>{};
    } else {
      return type_list<>{};
    }
  }

  using facts = decltype((type_list<Op>{} + ... + operand_fact<K, Ts, why.axis>()) + axis_fact<mesh_type, why.axis>() + mesh_fact() +
                         fix_facts(std::make_integer_sequence<int, mended.size>{}));
};
template <class Op, class... Ts>
using refused_call =
    call_refusal<Op, std::make_integer_sequence<int, static_cast<int>(sizeof...(Ts))>, std::remove_cvref_t<Ts>...>;

/// Where the ranks cannot hold equal pieces: the placement that a fix names instead.
template <class To, code Why>
struct mendable {
  using type = To;
};
template <class To>
struct mendable<To, code::indivisible> {
  using type = Shard<To::dim, Balanced, To::level>;
};
template <class T, int Axis, class To, code Why>
consteval auto extent_fact() {
  if constexpr (Why == code::indivisible)
    return type_list<indices_for_ranks<extent_to_shard<T, Axis, To>(), mesh_of_t<T>::static_size(Axis)>>{};
  else
    return type_list<>{};
}

/// A refused step on one axis of a T: why, the step that keeps the value instead, and all of it as type names.
template <step How, class T, int Axis, class To, bool Insisted>
struct step_refusal {
  using mesh_type = mesh_of_t<T>;
  using From = placement_on_t<T, Axis>;
  using list = placements_of_t<T>;
  static constexpr diagnostic why = step_diagnostic_v<How, T, Axis, To, Insisted>;
  using Wanted = typename mendable<To, why.what>::type;
  using keys = typename joined_keys<list, placements<Wanted>>::type;
  static constexpr suggested_fix mended =
      suggest_step(operand_traits<T>::template value<keys>.type, Axis, How, to_value<Wanted, keys>());
  /// Nothing is to be done on the way to what the ranks hold already.
  static constexpr bool superfluous = std::is_same_v<From, To>;

  template <int... N>
  static consteval auto fix_fact(std::integer_sequence<int, N...>) {
    if constexpr (superfluous)
      return type_list<fix_by<remove_the_call>>{};
    else if constexpr (sizeof...(N) > 0)
      return type_list<fix_by<call_fact_t<mesh_type, keys, mended.steps[N]>...>>{};
    else
      return type_list<>{};
  }
  using step_name = typename decltype(call_name<How, mesh_type::template name_string<Axis>(), From::kind, To>())::type;
  using facts = decltype(type_list<step_name, operand_is<0, From>>{} + axis_fact<mesh_type, Axis>() +
                         extent_fact<T, Axis, To, why.what>() + fix_fact(std::make_integer_sequence<int, mended.size>{}));
};

} // namespace detail
} // namespace sla
