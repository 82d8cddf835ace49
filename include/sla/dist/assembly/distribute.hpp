// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From plain tensors that every rank has to distributed ones, and back: `distribute<SparseShard<0>>(A, mesh, strips{})`,
// `distribute(b, D.row_layout())`, `distribute<Shard<0>>(x, mesh)`, `gather(x)`. Who owns what is decided in dist/partition/.
#pragma once

#include <array>

#include <sla/dist/assembly/columns.hpp>
#include <sla/dist/assembly/grid.hpp>
#include <sla/dist/assembly/nonzeros.hpp>
#include <sla/dist/assembly/rows.hpp>
#include <sla/dist/engine/replicated_arguments.hpp>
#include <sla/dist/partition/quality.hpp>
#include <sla/dist/partition/strips.hpp>
#include <sla/dist/step/collectives.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/arrange/sparse_list.hpp>

namespace sla {

namespace detail {
template <class E>
std::array<index_t, std::size_t(E::rank)> sizes_of(E const& extents) {
  std::array<index_t, std::size_t(E::rank)> out{};
  for (int d = 0; d < E::rank; ++d) out[std::size_t(d)] = extents[d];
  return out;
}

/// The dense tensor after each axis took its part, from the K-th of that order on.
template <class List, int K = 0, class Local, class Mesh>
auto shard_axes(Local x, shared_layout<Mesh>& layout) {
  if constexpr (K == Mesh::rank) {
    return x;
  } else {
    constexpr int A = sharding_order<List>::axis[K];
    using P = typename placement_number<A, List>::type;
    if constexpr (is_copied(P::kind)) {
      return shard_axes<List, K + 1>(std::move(x), layout);
    } else {
      static_assert(P::kind == placement_kind::shard,
                    "sla: distribute<...>(x, mesh): a plain tensor becomes Replicate, Invariant or Shard<d>; make other placements by convert");
      if constexpr (P::family::stated) {
        layout.extent[A] = x.extent(P::dim);
        require_accepted<typename P::family>(x.extent(P::dim), layout.mesh.size(A));
      } else if (!layout.rows || layout.rows->extent() != x.extent(P::dim)) {
        throw shape_error(text("distribute(x, layout): x has ", x.extent(P::dim), " elements on axis ", P::dim, ", the layout shards ",
                               layout.rows ? layout.rows->extent() : 0));
      }
      return shard_axes<List, K + 1>(cut_part<P>(x, group_of(layout, A)), layout);
    }
  }
}
} // namespace detail

/// A tensor that every rank has, in the stated placements: Replicate, Invariant, or Shard<d, Family>. Collective.
/// Cost: each rank reads x once more, for a hash. Errors, on every rank: shape_error if they disagree about the extents, or a
/// family cannot shard them; value_error if they give different numbers.
template <Placement... P, class T, class E, class Memory, class Mesh>
  requires(sizeof...(P) > 0 && is_mesh<Mesh>)
auto distribute(tensor<T, E, Memory> const& x, Mesh const& m) {
  detail::require_agreement(m.world(), "distribute", "extents", detail::sizes_of(x.extents()), detail::hash_of(x));
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  auto local = detail::shard_axes<placements<P...>>(x, *layout);
  return distributed<decltype(local), Mesh, P...>(std::move(local), std::move(layout));
}
/// The same by the layout of something else: `distribute(b, D.row_layout())`. A trailing axis of right-hand sides is whole.
template <class T, class E, class Memory, class Mesh, class... P>
auto distribute(tensor<T, E, Memory> const& x, vector_layout<Mesh, P...> const& like) {
  detail::require_agreement(like.mesh().world(), "distribute", "extents", detail::sizes_of(x.extents()), detail::hash_of(x));
  auto layout = std::make_shared<shared_layout<Mesh>>(*like.handle());
  auto local = detail::shard_axes<placements<P...>>(x, *layout);
  bool same = true;
  for (int a = 0; a < Mesh::rank; ++a) same = same && layout->extent[a] == like.handle()->extent[a];
  return distributed<decltype(local), Mesh, P...>(std::move(local), same ? like.handle() : layout_handle<Mesh>(std::move(layout)));
}

namespace detail {
template <class T, class S, class F>
rank_rows<T> slice_rows(sparse_tensor<T, S, F> const& A, std::vector<index_t> const& rows) {
  rank_rows<T> out;
  out.batch = A.batch_count();
  out.block = A.block_size;
  std::vector<index_t> slots;
  auto const pattern = A.pattern().view();
  for (index_t i : rows) {
    pattern.for_row(i, [&](index_t s, index_t j) {
      out.col.push_back(j);
      slots.push_back(s);
    });
    out.ptr.push_back(index_t(out.col.size()));
  }
  index_t const nnz = index_t(slots.size());
  out.values = buffer<T>(out.batch * nnz * out.block, uninitialized);
  for (index_t b = 0; b < out.batch; ++b)
    for (index_t n = 0; n < nnz; ++n)
      std::copy_n(A.values().data() + b * A.batch_stride() + slots[std::size_t(n)] * out.block, out.block, out.values.data() + (b * nnz + n) * out.block);
  return out;
}

template <int A, class Mesh, class Local, class Cut>
auto shard_sparse(Local x, std::shared_ptr<shared_layout<Mesh>> layout, Cut const&) {
  return std::pair{std::move(x), layout_handle<Mesh>(std::move(layout))};
}
template <int A, class P, class... Rest, class Mesh, class Local, class Cut>
auto shard_sparse(Local const& x, std::shared_ptr<shared_layout<Mesh>> layout, Cut const& partitioner) {
  if constexpr (is_copied(P::kind)) {
    return shard_sparse<A + 1, Rest...>(x, std::move(layout), partitioner);
  } else if constexpr (P::kind == placement_kind::shard) {
    static_assert(P::dim == 0 && P::family::contiguous, "sla: distribute(A, mesh): of a sparse tensor, Shard<0> shards the batch, in contiguous parts");
    static_assert(Local::shape_type::batch_extents::rank == 1, "sla: distribute<Shard<0>>(A, mesh): one batch axis is sharded; A has several");
    index_t const batch = x.batch_count();
    int const me = layout->mesh.coordinate(A), ranks = layout->mesh.size(A);
    require_accepted<typename P::family>(batch, ranks);
    layout->extent[A] = batch;
    auto part = batch_items(x, P::family::first(me, batch, ranks), P::family::first(me + 1, batch, ranks));
    return shard_sparse<A + 1, Rest...>(part, std::move(layout), partitioner);
  } else if constexpr (P::kind == placement_kind::hyper) {
    require_found<P>();
    static_assert((is_copied(Rest::kind) && ...), "sla: distribute<..., Hyper<>, ...>(A, mesh): the axes after the one that shards entries are Replicate");
    return shard_entries<A>(x, *layout, partitioner);
  } else if constexpr (is_grid<placements<P, Rest...>>) {
    return shard_rectangle<A, P, Rest...>(x, *layout);
  } else {
    static_assert(P::kind == placement_kind::sparse_shard,
                  "sla: distribute(A, mesh, partitioner): a sparse tensor becomes Replicate, Shard<0> (its batch), SparseShard<0> (rows) or SparseShard<1> (columns)");
    static_assert((is_copied(Rest::kind) && ...), "sla: distribute(A, mesh, partitioner): after the axis that shards rows or columns come Replicate axes only");
    require_found<P>();
    if constexpr (P::dim == 1) {
      return shard_columns(x, *layout, A, partitioner);
    } else {
      auto const rows = rows_by(partitioner, "distribute(A, mesh, layout)", layout->mesh.world(), x.pattern().view(), layout->mesh.size(A), layout->mesh.coordinate(A));
      auto const slice = slice_rows(x, rows->members());
      using Sparse = sparse_tensor<typename Local::value_type, open_shape_t<typename Local::shape_type>, local_csr_t<typename Local::format_type>>;
      typename Sparse::shape_type const whole(x.shape().batch(), x.rows(), x.cols());
      return localize<Sparse>(slice, whole, layout->mesh, A, layout->extent, rows);
    }
  }
}
} // namespace detail

/// A sparse tensor that every rank has, in the stated placements: Replicate, Shard<0> (of the batch), SparseShard<0> (rows) or
/// SparseShard<1> (columns), as the partitioner says, or the layout of another matrix: `distribute<SparseShard<0>>(B, m,
/// D.row_layout())` multiplies what lies as D's rows. Collective. Every rank allocates and first touches its own part.
/// Cost: each rank reads A once more, for a hash. Errors, on every rank: shape_error if they disagree about the sizes,
/// value_error if they give different matrices.
template <Placement... P, class T, class S, class F, class Mesh, class Cut = strips>
  requires(sizeof...(P) > 0 && is_mesh<Mesh>)
auto distribute(sparse_tensor<T, S, F> const& A, Mesh const& m, Cut const& partitioner = {}) {
  static_assert(is_vector_layout<Cut> || Partitioner<Cut, decltype(A.pattern().view())>,
                "sla: distribute(A, mesh, partitioner): a partitioner has a member owner_map partition(pattern view, parts) const, strips{} is one; or give the "
                "layout of another matrix, D.row_layout()");
  detail::require_agreement(m.world(), "distribute", "batch, rows, columns, entries",
                            std::array<index_t, 4>{A.batch_count(), A.rows(), A.cols(), A.nnz()}, detail::hash_of(A));
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  auto [local, handle] = detail::shard_sparse<0, P...>(A, std::move(layout), partitioner);
  return distributed<decltype(local), Mesh, P...>(std::move(local), std::move(handle));
}

/// Refused: solving the systems of a list sends nothing, so each rank has a list of its own.
template <Placement... P, class T, class S, class F, class Mesh, class... Cut>
  requires(sizeof...(P) > 0 && is_mesh<Mesh>)
auto distribute(sparse_list<T, S, F> const& A, Mesh const&, Cut const&...) {
  static_assert(always_false<T>,
                "sla: distribute(list, mesh): the systems of a list are solved without communication: give each rank a list of its own, "
                "A.systems(first, last), and solve that");
  return A;
}

namespace detail {
/// The first K + 1 axes of the order are still to be gathered, the innermost first.
template <int K, class Order, class X>
auto gather_axes(X const& x, Order) {
  if constexpr (K < 0) {
    return x.local();
  } else {
    constexpr int A = Order::axis[K];
    using P = placement_on_t<X, A>;
    constexpr auto name = mesh_of_t<X>::template name_string<A>();
    if constexpr (is_copied(P::kind))
      return gather_axes<K - 1>(x, Order{});
    else
      return gather_axes<K - 1>(stepped<step_along<P::kind == placement_kind::partial ? step::all_reduce : step::all_gather, name, Replicate>>(x), Order{});
  }
}
} // namespace detail

/// The whole of a distributed tensor as a plain one, in the original order, on every rank. Collective.
/// Cost: one all_gather (of pending sums: all_reduce) per axis that is not replicated.
template <class X>
  requires DistributedExpr<X>
auto gather(X const& x) {
  auto const value = eval(x);
  return detail::gather_axes<mesh_of_t<X>::rank - 1>(value, detail::sharding_order<placements_of_t<X>>{});
}

/// The report of D, on every rank. Collective.
template <DistributedSparse D>
partition_report report_partition(D const& d) {
  auto const& halo = d.handle()->halo;
  if (!halo) throw value_error("report_partition(D): D is not sharded by rows; distribute it as SparseShard<0>");
  index_t interior = 0;
  auto const pattern = d.local().pattern().view();
  for (index_t i = 0; i < d.local().rows(); ++i) {
    bool reads = false;
    pattern.for_row(i, [&](index_t, index_t j) { reads = reads || j >= halo->own(); });
    interior += !reads;
  }
  partition_report::part const mine{d.local().rows(), interior, d.local().nnz(), halo->ghosts(), index_t(halo->sent().size()),
                                    index_t(halo->sends().size())};
  halo->communicator().name_step("report_partition(D)");
  return {all_gather(halo->communicator(), mine), {}};
}

} // namespace sla
