// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts: what a distributed value shares with those like it, and layouts of vectors. Who owns which rows is in dist/halo/row_partition.hpp, the
// messages between owners in dist/halo/halo.hpp, values that are laid out so in dist/value/distributed.hpp.
#pragma once

#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/core/shape.hpp>
#include <sla/dist/halo/row_partition.hpp>
#include <sla/spmd/placement/family.hpp>

namespace sla {

class halo_plan;

/// What a distributed value shares with those like it: the mesh, the global extent of the dimension that each axis shards
///  (0 where none is), and for partitions found at run time the owner maps. Placements are not here: they are types.
template <class Mesh>
struct shared_layout {
  Mesh mesh{};
  fixed_array<index_t, Mesh::rank> extent{};
  std::shared_ptr<row_partition const> rows{};  ///< of a Part: the dimension that SparseShard<0> or Shard<d, Part<>> shards
  std::shared_ptr<halo_plan const> halo{};      ///< of a sparse operand: what its products exchange
  std::shared_ptr<halo_plan const> fold{};      ///< of a nonzero partition: where its rows' contributions go
  std::shared_ptr<shared_layout const> domain{};  ///< of a sparse operand that is rectangular, or whose columns have other owners than its rows: the layout of x in A * x
};

/// A layout that tensors share.
template <class Mesh>
using layout_handle = std::shared_ptr<shared_layout<Mesh> const>;

/// A layout of vectors with its placements: what `D.row_layout()` returns and `distribute(b, layout)` takes.
template <class Mesh, class... P>
class vector_layout {
public:
  using mesh_type = Mesh;
  explicit vector_layout(layout_handle<Mesh> handle) : handle_(std::move(handle)) {}
  layout_handle<Mesh> const& handle() const { return handle_.shared(); }
  Mesh const& mesh() const { return handle_->mesh; }
  /// The partition of this many rows that it was found by. Errors: shape_error, in words that begin with the call.
  std::shared_ptr<row_partition const> const& rows_of(char const* call, index_t rows) const {
    auto const& found = handle_->rows;
    if (!found || found->extent() != rows)
      throw shape_error(text(call, ": the layout shards ", found ? found->extent() : 0, " rows, and the matrix has ", rows));
    return found;
  }

private:
  detail::held<shared_layout<Mesh> const, "a layout"> handle_;
};
/// Is L a `vector_layout`?
template <class L>
inline constexpr bool is_vector_layout = false;
template <class Mesh, class... P>
inline constexpr bool is_vector_layout<vector_layout<Mesh, P...>> = true;

namespace detail {
/// Do vectors of two layouts lie alike? Ghosts are not looked at.
template <class Mesh>
bool same_layout(layout_handle<Mesh> const& a, layout_handle<Mesh> const& b) {
  return a == b || (a->mesh == b->mesh && a->extent == b->extent && same_rows(a->rows.get(), b->rows.get()));
}
/// The layouts of y and of x in y = A x. Both are one where A is square, but where its rows were picked, or it is a product, of columns that others own.
template <class Handle>
auto const& range_layout(Handle const& handle) {
  return handle;
}
template <class Handle>
auto const& domain_layout(Handle const& handle) {
  return handle->domain ? handle->domain : handle;
}
/// The plan, which sends on a communicator of this mesh, and keeps it.
template <class Mesh>
std::shared_ptr<halo_plan const> kept_with(Mesh const& m, std::shared_ptr<halo_plan const> const& plan) {
  using both = std::pair<Mesh, std::shared_ptr<halo_plan const>>;
  return plan ? std::shared_ptr<halo_plan const>(std::make_shared<both const>(m, plan), plan.get()) : nullptr;
}
/// How many of the indices of axis `a` rank r holds, by the family's own rule or by the partition.
template <class Family, class Mesh>
index_t part_extent(shared_layout<Mesh> const& layout, int a, int r) {
  if constexpr (Family::stated)
    return Family::local_extent(r, layout.extent[a], layout.mesh.size(a));
  else
    return layout.rows->count(r);
}
/// The global index of this rank's n-th.
template <class Family, class Mesh>
index_t part_global(shared_layout<Mesh> const& layout, int a, index_t n) {
  if constexpr (Family::stated)
    return Family::local_to_global(layout.mesh.coordinate(a), n, layout.extent[a], layout.mesh.size(a));
  else
    return layout.rows->global(n);
}
/// Errors: shape_error, if the family cannot shard so many.
template <class Family>
void require_accepted(index_t extent, int ranks) {
  if constexpr (Family::stated)
    if (!Family::accepts(extent, ranks))
      throw shape_error(text("an extent of ", extent, " cannot be sharded over ", ranks, " ranks by this family; Shard<d, Ceil> and "
                             "Shard<d, Balanced> shard any extent"));
}
} // namespace detail

} // namespace sla
