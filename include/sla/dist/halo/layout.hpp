// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts: who owns which indices of a dimension, and in what order each rank keeps its own: what needs no other rank first.
// The messages between owners are in dist/halo/halo.hpp, values that are laid out so in dist/value/distributed.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/core/shape.hpp>
#include <sla/dist/partition/owners.hpp>
#include <sla/spmd/placement/family.hpp>

namespace sla {

/// A dimension of `extent()` indices that a partitioner sharded, as one rank sees it. This rank's are numbered 0 to
/// count() - 1, the interior ones first: the rows that read nothing of others and that nobody else reads.
class row_partition {
public:
  /// In ascending order, all of them interior: nothing is read yet.
  template <class = void>
  row_partition(owner_map owners, int rank) : row_partition(owners, rank, {}, owners.count(rank)) {}
  /// `local` lists this rank's global indices in their local order; empty means in ascending order. `numbering` is a hash of
  /// the orders of all ranks, the same on each; 0 where all ascend.
  template <class = void>
  row_partition(owner_map owners, int rank, std::vector<index_t> local, index_t interior, std::uint64_t numbering = 0)
      : owners_(std::move(owners)), local_(std::move(local)), rank_(rank), interior_(interior), fingerprint_(owners_.fingerprint() ^ numbering * 0x9e3779b97f4a7c15ULL) {
    if (!owners_.contiguous()) mine_ = owners_.members(rank);
    inverse_.resize(local_.size());
    for (std::size_t n = 0; n < local_.size(); ++n) inverse_[std::size_t(ascending(local_[n]))] = index_t(n);
  }

  owner_map const& owners() const { return owners_; }
  int ranks() const { return owners_.parts(); }
  int rank() const { return rank_; }
  index_t extent() const { return owners_.rows(); }
  index_t count(int r) const { return owners_.count(r); }
  index_t count() const { return count(rank_); }
  /// How many of this rank's indices are interior.
  index_t interior() const { return interior_; }
  bool owns(index_t global) const { return owners_.owns(rank_, global); }
  template <class = void>
  int owner(index_t global) const { return owners_[global]; }
  /// The place of one of this rank's global indices among them in ascending order. Cost: of a table, O(log count).
  template <class = void>
  index_t ascending(index_t global) const {
    if (owners_.contiguous()) return global - owners_.first(rank_);
    return std::lower_bound(mine_.begin(), mine_.end(), global) - mine_.begin();
  }
  /// The global index of this rank's n-th, and back.
  index_t global(index_t local) const {
    if (!local_.empty()) return local_[std::size_t(local)];
    return owners_.contiguous() ? owners_.first(rank_) + local : mine_[std::size_t(local)];
  }
  template <class = void>
  index_t local(index_t global) const {
    index_t const n = ascending(global);
    return local_.empty() ? n : inverse_[std::size_t(n)];
  }
  /// A hash of the owner map and of all ranks' orders: two partitions of one type are told apart by it.
  std::uint64_t fingerprint() const { return fingerprint_; }
  /// Do the ranks own the same in both, if perhaps in another order?
  template <class = void>
  bool has_owners_of(row_partition const& other) const { return owners_.fingerprint() == other.owners_.fingerprint(); }
  /// What this rank owns, for messages.
  template <class = void>
  std::string words() const {
    if (count() == 0) return "no rows";
    if (owners_.contiguous()) return text("the rows ", owners_.first(rank_), " to ", owners_.first(rank_ + 1) - 1);
    return text(count(), " rows from ", mine_.front(), " to ", mine_.back());
  }

private:
  owner_map owners_;
  std::vector<index_t> local_, inverse_, mine_;
  int rank_;
  index_t interior_;
  std::uint64_t fingerprint_;
};

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
  std::shared_ptr<shared_layout const> domain{};  ///< of a rectangular sparse operand: the layout of x in A * x
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
/// The layouts of y and of x in y = A x. Both are one where A is square.
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
