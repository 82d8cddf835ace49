// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Modes: on which axes of a mesh ranks run programs of their own (local) or compute parts of one value (global), and what the
// rules of operations are told of a mesh's promises. The promises themselves are in spmd/mesh/mesh.hpp.
#pragma once
#include <cstdint>
#include <span>

#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/rule/match.hpp>

namespace sla {

/// Where nothing is promised (open), values of both kinds may live on an axis.
enum class axis_mode : std::uint8_t { open, local, global };

/// The mode of an axis: open on an ordinary mesh; else local or global.
template <class Mesh>
constexpr axis_mode mode_of(int axis) {
  if (Mesh::local_axis_count < 0) return axis_mode::open;
  return axis < Mesh::local_axis_count ? axis_mode::local : axis_mode::global;
}

/// What the mesh of a call asks of the decision about it.
template <class Mesh>
constexpr call_context call_context_of() {
  call_context now;
  now.permissive = Mesh::policy::template has<permissive>;
  for (int a = 0; a < Mesh::rank; ++a) {
    auto const bit = static_cast<std::uint8_t>(1U << a);
    if (mode_of<Mesh>(a) == axis_mode::global) now.global_axes = static_cast<std::uint8_t>(now.global_axes | bit);
    if (Mesh::policy::template has<explicit_partial>)
      now.explicit_partial = static_cast<std::uint8_t>(now.explicit_partial | bit);
  }
  return now;
}

/// May values with these placements live on the mesh? No Varying on a global axis, no shards on a local one.
template <class Mesh>
constexpr diagnostic check_modes(tensor_placement const& t) {
  for (int a = 0; a < t.axes; ++a) {
    auto const mode = mode_of<Mesh>(a);
    auto const kind = t.on[a].kind;
    if ((mode == axis_mode::global && kind == placement_kind::varying) || (mode == axis_mode::local && is_sharded(kind)))
      return {code::varying_with_shard, static_cast<std::int8_t>(a), 0};
  }
  return {};
}

namespace detail {
template <class Mesh, class... P>
inline constexpr bool modes_allow = false; // never true; its arguments are what a refusal prints
}

/// The law of a type on a mesh with local axes. Errors: E33.
template <class Local, class Mesh, class... P>
constexpr void require_modes() {
  if constexpr (Mesh::local_axis_count >= 0 && sizeof...(P) == Mesh::rank) {
    using keys = typename detail::key_list<P...>::type;
    constexpr diagnostic why = check_modes<Mesh>(detail::distributed_operand<keys, Local, P...>().type);
    if constexpr (why.what != code::ok && mode_of<Mesh>(why.axis < 0 ? 0 : why.axis) == axis_mode::global)
      static_assert(detail::modes_allow<Mesh, P...>,
                    "sla[E33]: a Varying on a global axis: its ranks hold no parts of one value. Say what they hold, "
                    "assume<axis, Shard<d>>(x) or assume<axis, Partial<>>(x), or let local_map state it");
    else if constexpr (why.what != code::ok)
      static_assert(detail::modes_allow<Mesh, P...>,
                    "sla[E33]: a Shard on a local axis: its ranks run programs of their own, on Varying values. Enter with what each "
                    "rank has, as_local<axis>(x), or by local_map");
  }
}

/// Does a collective over these axes, as one flattened axis, stay within one mode?
template <class Mesh>
constexpr bool one_mode(std::span<int const> axes) {
  for (int a : axes)
    if (mode_of<Mesh>(a) != mode_of<Mesh>(axes[0])) return false;
  return true;
}

} // namespace sla
