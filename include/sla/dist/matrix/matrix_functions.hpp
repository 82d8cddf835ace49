// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is asked of a distributed sparse tensor beside products: `diagonal_of(D)`, `sum(D)`, `norm(D)`, `norm1(D)`, `norm_inf(D)`,
// `scale_rows(D, d)`, `scale_cols(D, d)`, `gather(D)`, `to_dense(D)`. Stored transposes are in dist/matrix/stored_transpose.hpp.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/expr/sparse/algebra.hpp>
#include <sla/expr/sparse/norms.hpp>

namespace sla {

namespace detail {
/// Every rank has the whole, or its rows or columns: what is asked of the whole has an answer. Else one sentence.
template <class D>
constexpr void require_whole_items() {
  require_rows_or_columns<D>();
  static_assert(sparse_axis<placements_of_t<D>> >= 0 || all_copied<placements_of_t<D>>,
                "sla: this is asked of a distributed matrix whose batch is sharded: ask it of each rank's part, D.local()");
}

/// The same of what gives all items of a batch: no axis of the mesh shards them.
template <class List>
inline constexpr bool has_all_items = false;
template <class... P>
inline constexpr bool has_all_items<placements<P...>> = ((is_copied(P::kind) || P::kind == placement_kind::sparse_shard) && ...);

/// The communicator of the ranks that share a matrix.
template <class D>
any_communicator& sharing(D const& d) {
  return d.mesh().communicator(sparse_axis<placements_of_t<D>>);
}

/// d_j for the columns j that a rank holds of D: d whole, or sharded as they are.
template <class D, class X>
auto of_columns(D const& d, X const& x) {
  constexpr int at = local_of_t<D>::shape_type::batch_extents::rank, axis = sparse_axis<placements_of_t<D>>;
  if constexpr (sparse_dim<placements_of_t<D>> != 0 || placement_on_t<X, axis < 0 ? 0 : axis>::kind == placement_kind::ghost) {
    return x.local();
  } else {
    auto const& halo = *d.handle()->halo;
    if constexpr (is_copied(placement_on_t<X, axis>::kind))
      return picked_rows<at>(x.local(), halo, *domain_layout(d.handle())->rows);
    else
      return with_halo<at>(x.local(), halo);
  }
}

template <bool Rows, class D, class X>
auto scaled_part(D const& d, X const& x) {
  require_rows_or_columns<D>();
  constexpr int axis = sparse_axis<placements_of_t<D>>, sharded = sparse_dim<placements_of_t<D>>;
  static_assert(axis >= 0, "sla: scale_rows(D, d), scale_cols(D, d): the rows or columns of D are sharded; of a replicated or batch-sharded D "
                           "scale each rank's part, D.local()");
  constexpr bool whole = is_copied(placement_on_t<X, axis < 0 ? 0 : axis>::kind), along = (sharded == 0) == Rows;
  static_assert(whole != along || (sharded == 0 && !Rows),
                "sla: scale_rows(D, d), scale_cols(D, d): d lies as the side of D that it scales: distribute(d, D.row_layout()) or "
                "D.col_layout(); where every rank has all rows (columns), d is Replicate");
  auto const& side = Rows ? range_layout(d.handle()) : domain_layout(d.handle());
  if constexpr (!whole) require_partition(layout_of(x), side, Rows);
  if constexpr (!Rows && has_halo<placements_of_t<X>>) require_halo(layout_of(x), d.handle());
  auto local = [&] {
    if constexpr (Rows)
      return scale_rows(d.local(), x.local());
    else
      return scale_cols(d.local(), of_columns(d, x));
  }();
  return typename distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), d.handle());
}
} // namespace detail

/// The diagonal: zero where no entry is stored. Law: blocks are square.
/// Placement: as the rows (columns) that are sharded: a Shard in D.row_layout(). Cost: no communication.
/// Errors: shape_error, if D is not square.
template <DistributedSparse D>
auto diagonal_of(D const& d) {
  detail::require_rows_or_columns<D>();
  using Local = local_of_t<D>;
  using S = typename Local::shape_type;
  using To = tensor<typename Local::value_type, range_extents_t<S>>;
  constexpr int sharded = detail::sparse_dim<placements_of_t<D>>;
  using Layout = decltype(d.row_layout());
  auto const placed = [&]<class... P>(vector_layout<mesh_of_t<D>, P...> const& layout, To x) {
    return distributed<To, mesh_of_t<D>, P...>(std::move(x), layout.handle());
  };
  if constexpr (sharded < 0) {
    return placed(Layout(d.handle()), sla::diagonal_of(d.local()));
  } else {
    constexpr int axis = detail::sparse_axis<placements_of_t<D>>;
    index_t const rows = detail::range_layout(d.handle())->extent[axis], cols = detail::domain_layout(d.handle())->extent[axis];
    if (rows != cols) throw shape_error(text("diagonal_of(D): D is ", rows, " x ", cols, ", and must be square"));
    constexpr index_t P = S::block_rows;
    static_assert(P == S::block_cols, "sla: diagonal_of wants square blocks");
    Local const& A = d.local();
    index_t const side = sharded == 0 ? A.rows() : A.cols();
    To x(detail::extents_after<range_extents_t<S>>(A.shape().batch(), side, P));
    detail::global_places<D> const places{d};
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t j) {
        if (places.row(i) != places.col(j)) return;
        for (index_t b = 0; b < A.batch_count(); ++b)
          for (index_t k = 0; k < P; ++k)
            x.data()[(b * side + (sharded == 0 ? i : j)) * P + k] += A.values()[b * A.batch_stride() + s * P * P + k * (P + 1)];
      });
    return placed(Layout(d.handle()), std::move(x));
  }
}

/// The sum and norms of a distributed matrix, one number per batch item that this rank has: `sum`, `norm` (Frobenius), `norm1` (largest
/// column sum), `norm_inf` (largest row sum). Collective. Placement: a number that every rank of the items has, the same to the last bit; beside distributed
/// values it is `uniform(n)`. Cost: one all_reduce of a number; norm1 of rows a reverse halo too, norm_inf of columns an
/// all_reduce of all rows.
template <DistributedSparse D>
auto perform(op::sum, D const& d) {
  detail::require_whole_items<D>();
  auto sums = detail::for_each_item(d.local(), [](auto const& item) { return sum(item); });
  if constexpr (detail::sparse_axis<placements_of_t<D>> >= 0) all_reduce(detail::sharing(d), std::span(sums));
  return detail::number_per_item(d.local().shape(), sums);
}
template <DistributedSparse D>
auto perform(op::norm, D const& d) {
  detail::require_whole_items<D>();
  auto sums = detail::squared_sums(d.local());
  if constexpr (detail::sparse_axis<placements_of_t<D>> >= 0) all_reduce(detail::sharing(d), std::span(sums));
  return detail::number_per_item(d.local().shape(), detail::roots(std::move(sums)));
}
template <DistributedSparse D>
double squared_norm(D const&) {
  static_assert(always_false<D>, "sla: squared_norm(D) of a distributed matrix: double const n = norm(D), and n * n is its square");
  return 0;
}
template <DistributedSparse D>
auto perform(op::norm_inf, D const& d) {
  detail::require_whole_items<D>();
  constexpr int sharded = detail::sparse_dim<placements_of_t<D>>;
  auto sums = detail::absolute_sums<true>(d.local());
  if constexpr (sharded == 1) all_reduce(detail::sharing(d), std::span(sums));
  auto out = detail::largest(sums, d.local().batch_count());
  if constexpr (sharded == 0) all_reduce(detail::sharing(d), std::span(out), monoid::maximum);
  return detail::number_per_item(d.local().shape(), out);
}
template <DistributedSparse D>
auto perform(op::norm1, D const& d) {
  detail::require_whole_items<D>();
  constexpr int sharded = detail::sparse_dim<placements_of_t<D>>;
  auto sums = detail::absolute_sums<false>(d.local());
  if constexpr (sharded == 0) { // what the ranks have of a column meets at its owner
    auto const& halo = *d.handle()->halo;
    detail::row_shape const each{d.local().batch_count(), local_of_t<D>::shape_type::block_cols};
    decltype(sums) own(std::size_t(halo.own() * each.size()));
    detail::fold_halo(halo, sums.data(), own.data(), each);
    sums = std::move(own);
  }
  auto out = detail::largest(sums, d.local().batch_count());
  if constexpr (sharded >= 0) all_reduce(detail::sharing(d), std::span(out), monoid::maximum);
  return detail::number_per_item(d.local().shape(), out);
}

/// diag(d) D and D diag(d), sharded as D. Cost: no communication; columns of a D by rows want a halo of d, unless d is
/// Replicate. Errors: shape_error, if d was sharded by another partition.
template <DistributedSparse D, DistributedExpr X>
auto perform(op::scale_rows, D const& d, X const& x) {
  if constexpr (DistributedTensor<X>)
    return detail::scaled_part<true>(d, x);
  else
    return detail::scaled_part<true>(d, eval(x));
}
template <DistributedSparse D, DistributedExpr X>
auto perform(op::scale_cols, D const& d, X const& x) {
  if constexpr (DistributedTensor<X>)
    return detail::scaled_part<false>(d, x);
  else
    return detail::scaled_part<false>(d, eval(x));
}

/// The whole of a distributed matrix as a plain one, in the original order, on every rank. Collective.
/// Cost: the whole matrix, and its triplets meanwhile, on every rank.
template <DistributedSparse D>
auto gather(D const& d) {
  detail::require_rows_or_columns<D>();
  static_assert(detail::has_all_items<placements_of_t<D>>, "sla: gather(D), to_dense(D): the batch of D is sharded: distribute by rows or columns alone, or take D.local()");
  using Local = local_of_t<D>;
  using S = typename Local::shape_type;
  Local const& A = d.local();
  if constexpr (detail::sparse_axis<placements_of_t<D>> < 0) {
    return A;
  } else {
    constexpr int axis = detail::sparse_axis<placements_of_t<D>>;
    detail::global_places<D> const places{d};
    S const shape(A.shape().batch(), detail::range_layout(d.handle())->extent[axis], detail::domain_layout(d.handle())->extent[axis]);
    auto const terms = detail::terms_of(A, [&](index_t i, index_t j) { return detail::entry_place{places.row(i), places.col(j)}; });
    return detail::all_terms<typename Local::format_type>(detail::sharing(d), shape, terms);
  }
}
/// The dense tensor of a distributed matrix on every rank: for tests and little matrices. Collective.
template <DistributedSparse D>
auto to_dense(D const& d) {
  return to_dense(gather(d));
}

} // namespace sla
