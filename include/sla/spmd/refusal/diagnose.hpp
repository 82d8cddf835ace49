// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Refusals: the functions that a call, a collective and a type ask for permission; each gives one error with one
// sentence. The sentences are in spmd/refusal/sentences.hpp, the facts and fixes below them in spmd/refusal/facts.hpp, the decisions in
// spmd/rule/rules.hpp.
#pragma once

#include <type_traits>

#include <sla/spmd/refusal/facts.hpp>
#include <sla/spmd/refusal/sentences.hpp>
#include <sla/spmd/rule/well_typed.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

/// The law of every operation on distributed operands: nothing if the call is well typed, else one error with one
/// sentence.
template <class Op, class... Ts>
constexpr void require_well_typed() {
  if constexpr (!well_typed<Op, Ts...>) {
    using refused = detail::refused_call<Op, Ts...>;
    detail::refuse<refused::why.what, typename refused::facts>();
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
    constexpr diagnostic why = check_placements(detail::distributed_operand<keys, Local, P...>().type);
    if constexpr (why.what != code::ok) {
      using Refused = typename detail::placement_number<why.axis, placements<P...>>::type;
      using Facts = detail::type_list<Local, operand_is<0, Refused>, on_axis<Mesh::template name_string<why.axis>()>>;
      detail::refuse<why.what, Facts>();
    }
  }
}

} // namespace sla
