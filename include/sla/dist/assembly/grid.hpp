// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rectangles: the rows of a matrix sharded by one axis of the mesh, its columns by another, `distribute<SparseShard<0, Balanced>,
// SparseShard<1, Balanced>>(A, mesh)`. A product sends nothing: x is whole along the rows' axis, and y pending along the columns'.
#pragma once

#include <utility>

#include <sla/dist/assembly/rows.hpp>
#include <sla/tensor/arrange/slice.hpp>

namespace sla::detail {

/// The rectangle of this rank. Of the axes from A on, two shard rows and columns by stated families, the others copy.
template <int A, class... P, class Mesh, class T, class S, class F>
auto shard_rectangle(sparse_tensor<T, S, F> const& x, shared_layout<Mesh> layout) {
  static_assert(((is_copied(P::kind) || P::kind == placement_kind::sparse_shard) && ...) &&
                    ((P::kind == placement_kind::sparse_shard ? 1 : 0) + ... + 0) == 2 && is_grid<placements<P...>>,
                "sla: distribute(A, mesh): one axis shards rows, SparseShard<0, F>, and one columns, SparseShard<1, G>; the others Replicate");
  index_t first[2] = {0, 0}, count[2] = {x.rows(), x.cols()};
  auto const cut = [&]<class Q>(std::type_identity<Q>, int a) {
    if constexpr (Q::kind == placement_kind::sparse_shard) {
      using Family = typename Q::family;
      static_assert(Family::stated && Family::contiguous,
                    "sla: distribute(A, mesh): rows and columns on two axes are sharded by stated families: SparseShard<0, Balanced>");
      index_t const extent = Q::dim == 0 ? x.rows() : x.cols();
      int const me = layout.mesh.coordinate(a), ranks = layout.mesh.size(a);
      require_accepted<Family>(extent, ranks);
      layout.extent[a] = extent;
      first[Q::dim] = Family::first(me, extent, ranks);
      count[Q::dim] = Family::local_extent(me, extent, ranks);
    }
  };
  int a = A;
  (cut(std::type_identity<P>{}, a++), ...);
  index_choice<false> const rows{first[0], count[0]}, columns{first[1], count[1]};
  auto part = selected<false, false>(x, selection_of<local_csr_t<F>>(x, rows, columns));
  return std::pair{std::move(part), layout_handle<Mesh>(std::make_shared<shared_layout<Mesh> const>(std::move(layout)))};
}

} // namespace sla::detail
