// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored transposes of distributed sparse tensors, whose rows stay sharded, and the global numbers of local entries.
// The lazy `transpose(D)` is in dist/matrix/matrix_product.hpp, what else is done with a matrix in dist/matrix/matrix_functions.hpp.
#pragma once

#include <utility>

#include <sla/dist/assembly/entries_to_owners.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

namespace detail {
/// The global numbers of the rows and columns that a rank holds of D.
template <class D>
struct global_places {
  using List = placements_of_t<D>;
  static constexpr int sharded = sparse_dim<List>;
  D const& d;
  index_t row(index_t i) const {
    if constexpr (is_grid<List>)
      return of_rectangle<0>(i);
    else if constexpr (by_entries<List>)
      return d.handle()->fold->global(*d.handle()->rows, i);
    else if constexpr (sharded == 0)
      return d.handle()->rows->global(i);
    else
      return i;
  }
  index_t col(index_t j) const {
    if constexpr (is_grid<List>)
      return of_rectangle<1>(j);
    else if constexpr (sharded == 0 || by_entries<List>)
      return d.handle()->halo->global(*domain_layout(d.handle())->rows, j);
    else if constexpr (sharded == 1)
      return domain_layout(d.handle())->rows->global(j);
    else
      return j;
  }

private:
  template <int Side>
  index_t of_rectangle(index_t n) const {
    constexpr int axis = sparse_axis<List, Side>;
    return part_global<typename placement_on_t<D, axis>::family>(*d.handle(), axis, n);
  }
};

template <class List>
struct by_rows;
template <class... P>
struct by_rows<placements<P...>> {
  template <class Q>
  struct one {
    using type = Q;
  };
  template <int Axis, class F>
  struct one<SparseShard<Axis, F>> {
    using type = SparseShard<is_grid<placements<P...>> ? 1 - Axis : 0, F>;
  };
  using type = placements<typename one<P>::type...>;
};

template <bool Conj, class D>
auto stored_transpose(D const& d) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using S = typename Local::shape_type;
  constexpr int axis = sparse_axis<placements_of_t<D>>;
  Local const& A = d.local();
  if constexpr (axis < 0 || is_grid<placements_of_t<D>>) { // each rank transposes what it has
    auto local = [&] {
      if constexpr (Conj)
        return adjointed(A);
      else
        return transposed(A);
    }();
    auto handle = d.handle();
    if constexpr (by_entries<placements_of_t<D>>) {
      auto turned = std::make_shared<shared_layout<mesh_of_t<D>>>(*handle);
      std::swap(turned->halo, turned->fold);
      handle = std::move(turned);
    }
    return typename distributed_with<decltype(local), mesh_of_t<D>, typename by_rows<placements_of_t<D>>::type>::type(std::move(local), std::move(handle));
  } else {
    constexpr index_t P = S::block_rows, Q = S::block_cols;
    auto const& rows = *domain_layout(d.handle())->rows;
    global_places<D> const places{d};
    index_t const nnz = A.nnz();
    buffer<index_t> row_of(nnz, uninitialized);
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t) { row_of[s] = i; });
    auto const slice = deliver<T>(
        d.mesh().communicator(axis), rows, range_layout(d.handle())->extent[axis], nnz, A.batch_count(), P * Q,
        [&](index_t s) { return entry_place{places.col(index_t(A.pattern().col[s])), places.row(row_of[s])}; },
        [&](index_t s, T* to) {
          for (index_t b = 0; b < A.batch_count(); ++b) {
            T const* const from = A.values().data() + b * A.batch_stride() + s * P * Q;
            for (index_t q = 0; q < Q; ++q)
              for (index_t p = 0; p < P; ++p) {
                T const v = from[p * Q + q];
                *to++ = Conj ? T(conj_of(to_kernel(v))) : v;
              }
          }
        });
    using S2 = transposed_shape_t<S>;
    auto [local, handle] = localize<sparse_tensor<T, S2, typename Local::format_type>>(
        slice, S2(A.shape().batch(), rows.extent(), range_layout(d.handle())->extent[axis]), d.mesh(), axis,
        d.handle()->extent, domain_layout(d.handle())->rows, d.handle()->rows);
    return typename distributed_with<decltype(local), mesh_of_t<D>, typename by_rows<placements_of_t<D>>::type>::type(
        std::move(local), std::move(handle));
  }
}
} // namespace detail

/// The transpose as a stored distributed tensor, (*batch, N, M, q, p). Collective.
/// Placement: rows, SparseShard<0>, sharded as the columns of D are; its columns are sharded as the rows of D. Of rectangles columns by rows,
/// and of entries Hyper: each rank transposes its own.
/// Cost: every entry travels to the owner of its column once; of rectangles and entries none. The lazy form is `transpose(D)`.
template <DistributedSparse D>
auto transposed(D const& d) {
  return detail::stored_transpose<false>(d);
}
/// The conjugate transpose as a stored distributed tensor.
template <DistributedSparse D>
auto adjointed(D const& d) {
  return detail::stored_transpose<true>(d);
}

} // namespace sla
