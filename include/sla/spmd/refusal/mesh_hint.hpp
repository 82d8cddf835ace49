// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a refusal says of an operand on another mesh: that it can be seen from the first one, or which axes one of them lacks. The
// correspondence of meshes is in spmd/step/remesh.hpp.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/spmd/step/remesh.hpp>

namespace sla {

// The words of a refusal; the compiler prints them.
namespace call {
template <class Mesh>
struct reinterpret_mesh;
} // namespace call
/// The meshes have the same ranks, but no axes that correspond while each holds one thing.
struct axes_do_not_correspond;
/// The axes that the mesh of an operand has not, of those of the other; the complement of what it has.
template <fixed_string... Axes>
struct without_axes;
/// Some ranks are in both meshes: only communication leads from one to the other.
struct meshes_overlap;

namespace detail {

template <class Mesh, std::uint32_t Missing, int... N>
consteval auto lacking(std::integer_sequence<int, N...>) {
  constexpr auto chosen = [] {
    fixed_array<int, max_mesh_axes> out{};
    int count = 0;
    for (int a = 0; a < Mesh::rank; ++a)
      if (Missing >> a & 1u) out[count++] = a;
    return out;
  }();
  return std::type_identity<without_axes<Mesh::template name_string<chosen[N]>()...>>{};
}
constexpr int bits_of(std::uint32_t set) {
  int count = 0;
  for (; set; set &= set - 1) ++count;
  return count;
}

/// The hint about operand K of a call, on Theirs where the call is on Ours; `type` is void if there is none.
template <class Call, class Ours, class Theirs, int K, std::uint64_t EvenFamilies>
struct mesh_hint_of {
  static constexpr mesh_value ours = value_of_mesh<Ours>(), theirs = value_of_mesh<Theirs>();
  static constexpr mesh_hint relation = ours.known() && theirs.known() ? relate(theirs, ours) : mesh_hint{};
  static constexpr bool seen = relation.relation == mesh_relation::same_ranks &&
                               remesh(Call::operands[K].type, theirs, ours, EvenFamilies).ok();
  static consteval auto choose() {
    if constexpr (seen)
      return std::type_identity<call::reinterpret_mesh<Ours>>{};
    else if constexpr (relation.relation == mesh_relation::same_ranks)
      return std::type_identity<axes_do_not_correspond>{};
    else if constexpr (relation.relation == mesh_relation::part && relation.missing != 0)
      return lacking<Ours, relation.missing>(std::make_integer_sequence<int, bits_of(relation.missing)>{});
    else if constexpr (relation.relation == mesh_relation::overlapping)
      return std::type_identity<meshes_overlap>{};
    else
      return std::type_identity<void>{};
  }
  using type = typename decltype(choose())::type;
};

} // namespace detail
} // namespace sla
