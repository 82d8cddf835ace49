// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The law of seeds: a cotangent that a program gives has the placements of the gradient, the duals of those of the value.
// Gradients themselves are in grad/ and dist/grad/value_and_gradient.hpp.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/spmd/refusal/diagnose.hpp>

namespace sla {

// The words of a refused seed: its placements, or itself where it is no such value, and those wanted.
template <class Is>
struct seed_is;
template <class Is>
struct gradient_is;

/// The steps that bring a seed to the placements of the gradient, axis by axis; size 0 if none do.
template <class = void>
constexpr suggested_fix suggest_seed(tensor_placement seed, tensor_placement const& gradient) {
  suggested_fix f;
  for (bool more = true; more;) { // an axis that is not free yet is tried again after the others
    more = false;
    for (int a = 0; a < seed.axes; ++a) {
      if (seed.on[a] == gradient.on[a]) continue;
      suggested_fix const one = suggest_step(seed, a, route(seed.on[a], gradient.on[a]), gradient.on[a], true);
      if (one.size == 0 || f.size + one.size > max_inserted) continue;
      for (int n = 0; n < one.size; ++n) f.steps[f.size++] = one.steps[n];
      f.cost += one.cost;
      seed.on[a] = gradient.on[a];
      more = true;
    }
  }
  return seed == gradient ? f : suggested_fix{};
}

namespace detail {

/// A refused seed G of a value Y as type names.
template <class Y, class G>
struct seed_refusal {
  using facts = type_list<seed_is<G>, gradient_is<cotangent_t<Y>>>;
};
template <class Y, Distributed G>
  requires std::is_same_v<with_placements_t<G, placements<>>, with_placements_t<Y, placements<>>>
struct seed_refusal<Y, G> {
  using list = placements_of_t<G>;
  using wanted = placements_of_t<cotangent_t<Y>>;
  using keys = typename joined_keys<placements<>, list, wanted>::type;
  static constexpr suggested_fix mended =
      suggest_seed(operand_traits<G>::template value<keys>.type, operand_traits<cotangent_t<Y>>::template value<keys>.type);

  template <int... N>
  static consteval auto make(std::integer_sequence<int, N...>) {
    if constexpr (sizeof...(N) > 0)
      return type_list<seed_is<list>, gradient_is<wanted>, fix_by<call_fact_t<mesh_of_t<G>, keys, mended.steps[N]>...>>{};
    else
      return type_list<seed_is<list>, gradient_is<wanted>>{};
  }
  using facts = decltype(make(std::make_integer_sequence<int, mended.size>{}));
};

} // namespace detail

/// The law of a seed of type G for the gradient of a Y: nothing if G is cotangent_t<Y>, else one error.
template <Distributed Y, class G>
constexpr void require_seed() {
  if constexpr (!std::is_same_v<G, cotangent_t<Y>>) detail::refuse<code::wrong_seed, typename detail::seed_refusal<Y, G>::facts>();
}

} // namespace sla
