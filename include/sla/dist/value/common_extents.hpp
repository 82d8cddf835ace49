// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands that meet are on one mesh, and what an axis shards has one extent for all of them: checked when the program runs.
#pragma once

#include <sla/dist/value/distributed.hpp>

namespace sla::detail {

/// Errors: shape_error, if two meshes of one type have different sizes, or this rank another place in them.
template <class Mesh>
void require_one_mesh(Mesh const& m, Mesh const& n) {
  for (int a = 0; a < Mesh::rank; ++a)
    if (m.size(a) != n.size(a) || m.coordinate(a) != n.coordinate(a))
      throw shape_error(text("two distributed operands are on different meshes of one type: along ", Mesh::name(a), " this rank is ", m.coordinate(a), " of ",
                             m.size(a), ", and ", n.coordinate(a), " of ", n.size(a)));
}
/// The extents that the axes shard, which operands that meet share. A value that was put together by hand may say none, 0.
template <class Mesh>
class common_extents_of {
public:
  /// The next operand. Errors: shape_error, on all ranks, if one before has another extent along an axis.
  template <class... P>
  void meet(int operand, shared_layout<Mesh> const& layout, placements<P...>) {
    int a = 0;
    ((DenseShard<P> ? meet_along<P>(operand, layout, a++) : void(a++)), ...);
  }

private:
  struct sharded {
    int operand;
    index_t whole = 0, part = 0;
  };
  template <class P>
  void meet_along(int operand, shared_layout<Mesh> const& layout, int a) {
    if constexpr (DenseShard<P>) {
      index_t const whole = layout.extent[a];
      if (whole == 0) return;
      sharded const now{operand, whole, part_extent<typename P::family>(layout, a, layout.mesh.coordinate(a))};
      if (auto const& before = sharded_[a]; before.whole != 0 && before.whole != whole)
        throw shape_error(text("what an axis shards is one index of all operands: along ", Mesh::name(a), " operand ", before.operand, " shards ",
                               before.whole, " indices and operand ", operand, " ", whole, ", of which rank ", layout.mesh.coordinate(a), " of ",
                               layout.mesh.size(a), " has ", before.part, " and ", now.part, "; distribute one by the layout of the other, x.layout()"));
      sharded_[a] = now;
    }
  }
  fixed_array<sharded, Mesh::rank> sharded_{};
};

} // namespace sla::detail
