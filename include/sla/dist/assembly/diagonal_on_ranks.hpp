// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Diagonal matrices whose rows are on ranks: `eye<double>(D.row_layout())`, and `diagonal(v)` of a distributed vector. Those of one rank are in
// tensor/algebra/diagonal.hpp; one that every rank has is `eye<double>(mesh, n)`.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/assembly/vectors.hpp>
#include <sla/tensor/algebra/diagonal.hpp>

namespace sla {

namespace detail {
/// The placement of a matrix whose rows lie as such vectors.
template <class P>
struct matrix_placement {
  using type = P;
};
template <DenseShard P>
struct matrix_placement<P> {
  using type = SparseShard<0, typename P::family>;
};
/// The diagonal matrix of what this rank has of the diagonal. Collective.
template <Format F, class T, class Mesh, class... P>
auto diagonal_on(vector_layout<Mesh, P...> const& like, vector<T> const& part) {
  if constexpr (require_rows_of_layout<P...>()) {
    constexpr int axis = rows_of_layout<P...>::axis;
    require_found<typename matrix_placement<typename placement_number<axis, placements<P...>>::type>::type>();
    auto layout = std::make_shared<shared_layout<Mesh>>();
    layout->mesh = like.mesh();
    layout->extent = like.handle()->extent;
    layout->rows = like.handle()->rows;
    layout->halo = std::make_shared<halo_plan const>(layout->mesh.communicator(axis), *layout->rows, foreign_indices{}, gathered<index_t>{},
                                                     row_runs{{{0, part.size()}}, {}});
    auto local = diagonal<local_csr_t<F>>(part);
    return distributed<decltype(local), Mesh, typename matrix_placement<P>::type...>(std::move(local), std::move(layout));
  }
}
} // namespace detail

/// The identity whose rows lie as such vectors: `eye<double>(D.row_layout())`. Placement: rows. Collective. Cost: its rows, and one number of each rank.
template <class T, Format F = Csr<>, class Mesh, class... P>
auto eye(vector_layout<Mesh, P...> const& like) {
  return detail::diagonal_on<F>(like, full<T>(detail::own_rows(like), T(1)));
}
/// `diagonal(v)`. Placement: its rows lie as v. Collective. Law: v is a vector whose elements one axis shards.
template <Format F, class T, class Mesh, class... P>
auto perform(op::diagonal, conversion_to<F>, distributed<vector<T>, Mesh, P...> const& v) {
  return detail::diagonal_on<F>(v.layout(), v.local());
}

} // namespace sla
