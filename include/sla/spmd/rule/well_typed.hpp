// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules on types: `well_typed<op::add, X, Y>`, and the placements of a result. A call that is not well typed says
// why through spmd/refusal/diagnose.hpp; the rules themselves are in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/rule/compose.hpp>
#include <sla/spmd/rule/expand.hpp>
#include <sla/spmd/rule/modes.hpp>
#include <sla/spmd/rule/rules.hpp>

namespace sla {

namespace detail {

template <class... Ts>
struct first_mesh {
  using type = void;
};
template <class T, class... Rest>
struct first_mesh<T, Rest...>
    : std::conditional_t<operand_traits<T>::kind == operand_kind::distributed,
                         std::type_identity<typename operand_traits<T>::mesh_type>, first_mesh<Rest...>> {};

template <class Mesh, class Axes = std::make_integer_sequence<int, Mesh::rank>>
inline constexpr fixed_array<std::string_view, max_mesh_axes> axis_names{};
template <class Mesh, int... A>
inline constexpr fixed_array<std::string_view, max_mesh_axes> axis_names<Mesh, std::integer_sequence<int, A...>>{
    {Mesh::name(A)...}};

template <class... T>
constexpr std::uint64_t even_bits(type_list<T...>) {
  std::uint64_t out = 0, bit = 1;
  auto const see = [&]<class F>(std::type_identity<F>) {
    if (family_facts_of<F>.even && family_facts_of<F>.reshapeable) out |= bit;
    bit <<= 1;
  };
  (see(std::type_identity<T>{}), ...);
  return out;
}

/// What the mesh asks of the decision; a rule that is not an op_rule may name axes, and shard evenly.
template <class Rule, class Mesh, class Keys>
constexpr call_context call_context_for() {
  auto now = call_context_of<Mesh>();
  if constexpr (!std::is_same_v<Rule, op_rule>) {
    now.axis_names = axis_names<Mesh>;
    now.even_family = index_in<Even>(Keys{});
    now.even_families = even_bits(Keys{});
    for (int a = 0; a < Mesh::rank; ++a) now.ranks[a] = Mesh::static_size(a) == dyn ? 0 : static_cast<int>(Mesh::static_size(a));
  }
  return now;
}

/// What the rules see of an argument; what is not distributed is a constant on every rank of the mesh, if there is one.
template <class T, class Mesh, class Keys>
consteval operand operand_of() {
  using traits = operand_traits<T>;
  if constexpr (traits::kind == operand_kind::distributed) {
    return traits::template value<Keys>;
  } else {
    operand out;
    out.weak = traits::kind == operand_kind::literal;
    out.gradient = false;
    if constexpr (!std::is_void_v<Mesh>) out.type.axes = static_cast<std::int8_t>(Mesh::rank);
    for (int a = 0; a < out.type.axes; ++a) out.type.on[a].kind = placement_kind::replicate;
    return out;
  }
}

/// Do two rules of a stated strategy want the same operands? Looked at once for each operation.
template <class Op>
inline constexpr bool is_ambiguous = [] {
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(rule_of<Op>)>, strategy>)
    return rule_of<Op>.known && check_strategy(rule_of<Op>) == code::ambiguous_rule;
  else
    return false;
}();

/// One operation on operands of these types (without references).
template <class Op, class... Ts>
struct typed_call {
  static_assert(sizeof...(Ts) > 0 && sizeof...(Ts) <= max_operands, "sla: an operation has one to six operands");
  using mesh_type = typename first_mesh<Ts...>::type;
  using rule_type = std::remove_cvref_t<decltype(rule_of<Op>)>;
  using made = std::conditional_t<std::is_same_v<rule_type, op_rule>, placements<>, placements<Shard<0>>>;
  using keys = typename joined_keys<placements<>, typename operand_traits<Ts>::placement_list..., made>::type;

  static constexpr operand operands[sizeof...(Ts)] = {operand_of<Ts, mesh_type, keys>()...};

  static constexpr placement_outcome decide() {
    placement_outcome out;
    if (!rule_of<Op>.known) return out.why.what = code::no_rule, out;
    if (is_ambiguous<Op>) return out.why.what = code::ambiguous_rule, out;
    if constexpr (std::is_void_v<mesh_type>) {
      return out; // nothing is distributed
    } else {
      operand_kind const kinds[] = {operand_traits<Ts>::kind...};
      bool const on_this_mesh[] = {std::is_same_v<typename operand_traits<Ts>::mesh_type, mesh_type>...};
      for (std::size_t k = 0; k < sizeof...(Ts); ++k) {
        auto const refuse = [&](code why) { out.why = {why, -1, static_cast<std::int8_t>(k)}; };
        if (kinds[k] == operand_kind::number) return refuse(code::run_time_number), out;
        if (kinds[k] == operand_kind::other) return refuse(code::no_placement), out;
        if (kinds[k] == operand_kind::distributed && !on_this_mesh[k]) return refuse(code::different_meshes), out;
      }
      return check(rule_of<Op>, {operands, sizeof...(Ts)}, call_context_for<rule_type, mesh_type, keys>());
    }
  }

  static constexpr placement_outcome value = decide();
};

/// The placements of the N-th result.
template <int N, class Call, class Axes = std::make_integer_sequence<int, Call::value.type.axes>>
struct nth_result;
template <int N, class Call, int... A>
struct nth_result<N, Call, std::integer_sequence<int, A...>> {
  static constexpr tensor_placement made = N == 0 ? Call::value.type : Call::value.more[N == 0 ? 0 : N - 1];
  using type = placements<placement_at<made.on[A], typename Call::keys>...>;
};

template <class Op, class... Ts>
using call_t = typed_call<Op, std::remove_cvref_t<Ts>...>;

template <class List>
inline constexpr bool has_pending = false;
template <class... P>
inline constexpr bool has_pending<placements<P...>> = ((P::kind == placement_kind::partial) || ...);
/// The placements of the first operand that is distributed, complete before pending: what stands around a refused call
/// is not refused for the same reason once more.
template <bool Complete, class... Ts>
struct first_placements {
  using type = placements<>;
};
template <bool Complete, class T, class... Rest>
struct first_placements<Complete, T, Rest...>
    : std::conditional_t<Distributed<T> && !(Complete && has_pending<typename operand_traits<T>::placement_list>),
                         std::type_identity<typename operand_traits<T>::placement_list>, first_placements<Complete, Rest...>> {};

template <bool Ok, class Call, class... Ts>
struct result_placements : nth_result<0, Call> {};
template <class Call, class... Ts>
struct result_placements<false, Call, Ts...>
    : std::conditional_t<((Distributed<Ts> && !has_pending<typename operand_traits<Ts>::placement_list>) || ...), first_placements<true, Ts...>,
                         first_placements<false, Ts...>> {};

} // namespace detail

/// Does the operation accept operands of these placements? Operands that are not distributed at all are not its
/// business.
template <class Op, class... Ts>
concept well_typed = detail::call_t<Op, Ts...>::value.ok();

/// The decision as a value: the result's placements, implied communication, and the reason of a refusal.
template <class Op, class... Ts>
inline constexpr placement_outcome outcome_of = detail::call_t<Op, Ts...>::value;

/// The placements of the result. Where the call is refused these are the first operand's, so that one error stays one.
template <class Op, class... Ts>
using result_placements_t = typename detail::result_placements<well_typed<Op, Ts...>, detail::call_t<Op, Ts...>,
                                                               std::remove_cvref_t<Ts>...>::type;

/// The placements of the result number N of an operation with several; number 0 is the one above.
template <int N, class Op, class... Ts>
requires well_typed<Op, Ts...>
using nth_result_placements_t = typename detail::nth_result<N, detail::call_t<Op, Ts...>>::type;

/// The mesh of the distributed operands; void if there is none.
template <class... Ts>
using common_mesh_t = typename detail::first_mesh<std::remove_cvref_t<Ts>...>::type;

namespace detail {
template <class Local, class Mesh, class List>
struct distributed_with;
template <class Local, class Mesh, class... P>
struct distributed_with<Local, Mesh, placements<P...>> {
  using type = distributed<Local, Mesh, P...>;
};
} // namespace detail

/// `distributed<Local, Mesh, ...>` with the placements of the result of `Op` on `Ts...`.
template <class Local, class Op, class... Ts>
using result_t = typename detail::distributed_with<Local, common_mesh_t<Ts...>, result_placements_t<Op, Ts...>>::type;

/// What the call communicates by itself along the axis of this number.
template <class Op, int Axis, class... Ts>
inline constexpr communication implied_v = outcome_of<Op, Ts...>.implied[Axis];

} // namespace sla
