// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which global indices each rank has of a distributed value: `shares(x)` of all ranks, `share_here(x)` of this one.
// As a table and as a picture: dist/value/explain_placement.hpp.
#pragma once

#include <vector>

#include <sla/dist/value/distributed.hpp>
#include <sla/spmd/placement/partition_spec.hpp>

namespace sla {

/// What one rank holds: its coordinates, the extents of the whole, and for each dimension its global indices, in local order.
struct rank_share {
  int rank = 0;
  std::vector<int> coordinates;
  std::vector<index_t> whole;
  std::vector<std::vector<index_t>> indices;
};

namespace detail {

template <class X>
struct placement_facts;
template <class Local, class Mesh, class... P>
struct placement_facts<distributed<Local, Mesh, P...>> {
  static constexpr tensor_placement value = tensor_placement_of<distributed<Local, Mesh, P...>>;

  /// The layout that dimension d lies by: the columns of a rectangular sparse tensor have their own.
  static shared_layout<Mesh> const& side(shared_layout<Mesh> const& layout, int d) {
    return value.is_sparse() && d == value.batch + 1 && layout.domain ? *layout.domain : layout;
  }
  /// The extent of a dimension before any axis shards it.
  static index_t whole(distributed<Local, Mesh, P...> const& x, int d) {
    auto const order = order_of(value, d);
    if constexpr (value.rank == 0) {
      return 1;
    } else {
      if (order.count) return side(*x.handle(), d).extent[order.axis[0]];
      if constexpr (is_sparse_tensor<Local>) {
        using S = typename Local::shape_type;
        int const n = d - value.batch;
        if (n < 0) return x.local().shape().batch()[d];
        if (n > 1) return n == 2 ? S::block_rows : S::block_cols;
        for (int a = 0; a < value.axes; ++a) // what shards the other side, or entries, knows both extents
          if (value.on[a].kind == placement_kind::sparse_shard || value.on[a].kind == placement_kind::hyper)
            return side(*x.handle(), d).extent[a];
        return n == 0 ? x.local().rows() : x.local().cols();
      } else {
        return x.local().extent(d);
      }
    }
  }
  /// Those of `all` that coordinate c of axis a holds. Asks the other ranks, unless it is here, where rows stand in a directory.
  static std::vector<index_t> part(shared_layout<Mesh> const& layout, int d, int a, int c, bool here, std::vector<index_t> const& all) {
    std::vector<index_t> out;
    auto const take = [&]<class Q>(std::type_identity<Q>, int at) {
      if constexpr (requires { typename Q::family; }) {
        if (at != a) return;
        using F = typename Q::family;
        auto const size = static_cast<index_t>(all.size());
        if constexpr (F::stated) {
          int const ranks = layout.mesh.size(a);
          for (index_t j = 0; j < F::local_extent(c, size, ranks); ++j)
            out.push_back(all[static_cast<std::size_t>(F::local_to_global(c, j, size, ranks))]);
        } else if (auto const& rows = side(layout, d).rows) {
          auto const order = here || rows->contiguous() ? std::vector<index_t>() : rows->order(layout.mesh.communicator(a));
          for (index_t n = 0; n < rows->count(c); ++n)
            if (index_t const i = here ? rows->global(n) : order.empty() ? rows->first(c) + n : order[std::size_t(rows->first(c) + n)]; i < size) out.push_back(all[static_cast<std::size_t>(i)]);
        }
      }
    };
    int at = 0;
    (take(std::type_identity<P>{}, at++), ...);
    return out;
  }
};

/// What the rank of these coordinates holds of x; `here`: this one.
template <class X>
rank_share share_at(X const& x, std::vector<int> coordinates, bool here) {
  using Facts = placement_facts<X>;
  using Mesh = mesh_of_t<X>;
  auto const& layout = *x.handle();
  rank_share share;
  for (int a = Mesh::rank, stride = 1; a-- > 0; stride *= layout.mesh.size(a))
    share.rank += coordinates[std::size_t(a)] * (Mesh::is_strided ? Mesh::static_stride(a) : stride);
  for (int d = 0; d < Facts::value.rank; ++d) {
    share.whole.push_back(Facts::whole(x, d));
    std::vector<index_t> indices(std::size_t(share.whole.back()));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<index_t>(i);
    auto const order = order_of(Facts::value, d);
    for (int k = 0; k < order.count; ++k) indices = Facts::part(layout, d, order.axis[k], coordinates[std::size_t(order.axis[k])], here, indices);
    share.indices.push_back(std::move(indices));
  }
  share.coordinates = std::move(coordinates);
  return share;
}

} // namespace detail

/// What this rank holds of x. No communication. Cost: time and memory for the indices of x. Law: of a halo, the rows that the rank owns.
template <class X>
  requires is_distributed<X>
rank_share share_here(X const& x) {
  std::vector<int> here;
  for (int a = 0; a < mesh_of_t<X>::rank; ++a) here.push_back(x.mesh().coordinate(a));
  return detail::share_at(x, std::move(here), true);
}

/// What each rank holds, in the order of the mesh's coordinates. Collective where rows are sharded by owners that are no ranges, as by rcb; otherwise
/// nothing is sent. Cost: time and memory for the indices of all ranks.
template <class X>
  requires is_distributed<X>
std::vector<rank_share> shares(X const& x) {
  using Mesh = mesh_of_t<X>;
  auto const& m = x.mesh();
  int ranks = 1;
  for (int a = 0; a < Mesh::rank; ++a) ranks *= m.size(a);
  std::vector<rank_share> out;
  for (int n = 0; n < ranks; ++n) {
    std::vector<int> at;
    at.resize(std::size_t(Mesh::rank));
    for (int a = Mesh::rank, rest = n; a-- > 0; rest /= m.size(a)) at[std::size_t(a)] = rest % m.size(a);
    out.push_back(detail::share_at(x, std::move(at), false));
  }
  return out;
}

} // namespace sla
