// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of a program on distributed values: one distributed number, and a cotangent per argument in the dual placements.
// Each operation has its derivative beside it (*_gradient.hpp); the tape, forward mode and the rules on scalars are in grad/.
#pragma once

#include <utility>

#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/product_gradient.hpp>
#include <sla/dist/solve/solve_entries.hpp>
#include <sla/dist/step/collectives.hpp>
#include <sla/dist/step/steps_gradient.hpp>
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/grad/call/pullback.hpp>
#include <sla/spmd/refusal/seed.hpp>

namespace sla {

/// The seed of a distributed value has the dual placements.
template <class Local, class Mesh, class... P, class G>
struct seed_law<distributed<Local, Mesh, P...>, G> {
  using value_type = distributed<Local, Mesh, P...>;
  static constexpr bool holds = std::same_as<G, cotangent_t<value_type>>;
  static constexpr void require() { require_seed<value_type, G>(); }
};

namespace detail {
/// Partial or Invariant on every axis.
template <class List>
inline constexpr bool is_one_loss = false;
template <class... P>
inline constexpr bool is_one_loss<placements<P...>> = ((std::same_as<P, Partial<Sum>> || std::same_as<P, Invariant>) && ...);
/// The first axis on which a loss is neither, and the calls that mend it on all of them.
template <class Y, class List>
struct loss_refusal;
template <class Y, class... P>
struct loss_refusal<Y, placements<P...>> {
  using Mesh = mesh_of_t<Y>;
  static constexpr int axis = [] {
    int a = 0, found = -1;
    ((found = found < 0 && !is_one_loss<placements<P>> ? a : found, ++a), ...);
    return found;
  }();
  template <int A, class Q>
  static consteval auto step() {
    constexpr auto name = Mesh::template name_string<A>();
    if constexpr (Q::kind == placement_kind::replicate)
      return type_list<call::convert<name, Partial<>>>{};
    else if constexpr (Q::kind == placement_kind::varying)
      return type_list<call::reinterpret<name, Partial<>>>{};
    else
      return type_list<>{};
  }
  template <class... Call>
  static consteval auto fix(type_list<Call...>) {
    if constexpr (sizeof...(Call) > 0)
      return type_list<fix_by<Call...>>{};
    else
      return type_list<>{};
  }
  template <int... A>
  static consteval auto fixes(std::integer_sequence<int, A...>) {
    return fix((type_list<>{} + ... + step<A, P>()));
  }
  static constexpr placement_kind held = placement_on_t<Y, axis>::kind;
  using facts = decltype(type_list<operand_is<0, placement_on_t<Y, axis>>, on_axis<Mesh::template name_string<axis>()>>{} +
                         fixes(std::make_integer_sequence<int, int(sizeof...(P))>{}));
};
template <class Y>
inline constexpr bool is_distributed_number = false;
template <class T, class Mesh, class... P>
inline constexpr bool is_distributed_number<distributed<T, Mesh, P...>> = std::floating_point<T>;

/// The loss of a function of traced values, and its cotangents.
template <class F, class... V>
auto differentiated_loss(tape& t, F& f, tape_variable<V>&... inputs) {
  auto const y = f(traced<V>(t, inputs)...);
  using Y = plain_t<decltype(y)>;
  constexpr bool is_number = is_distributed_number<Y>;
  static_assert(is_number,
                "sla: value_and_gradient(f, args...): of distributed arguments, f returns one distributed real number: dot, sum or squared_norm");
  if constexpr (is_number) {
    using R = local_of_t<Y>;
    if constexpr (is_one_loss<placements_of_t<Y>>) {
      auto const total = gather_axes<mesh_of_t<Y>::rank - 1>(plain_value(y), sharding_order<placements_of_t<Y>>{});
      if constexpr (Traced<decltype(y)>) {  // else no argument mattered
        y.variable().add(constant<R>{1});
        t.sweep();
      }
      return std::tuple<R, cotangent_type_t<V>...>(total, inputs.take_cotangent()...);
    } else {
      using refusal = loss_refusal<Y, placements_of_t<Y>>;
      refuse_loss<refusal::held, typename refusal::facts>();
      return std::tuple<R, cotangent_type_t<V>...>(R(0), inputs.take_cotangent()...);
    }
  } else {
    return std::tuple<double, cotangent_type_t<V>...>(0.0, inputs.take_cotangent()...);  // well-formed: the sentence is the only error
  }
}
} // namespace detail

/// (f(args...), one cotangent per argument) of a function of distributed values. Collective: every rank calls it, and gets the
/// same value. f returns a distributed real number that is Partial (dot, sum, squared_norm) or Invariant on every axis.
/// Placement: cotangents are in the dual placements: Shard to Shard, SparseShard to SparseShard, Replicate to Partial.
/// Law: a Replicate loss is refused: its gradient would be counted once per rank. Errors: as of plain values.
template <class F, class... Args>
  requires((is_distributed<Args> || ...))
auto value_and_gradient(F&& f, Args const&... args) {
  tape t;
  return detail::differentiated_loss(t, f, t.input(args)...);
}

} // namespace sla
