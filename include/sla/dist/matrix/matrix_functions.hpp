// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is asked of a distributed sparse tensor beside products: `diagonal_of(D)`, `sum(D)`, `norm(D)`, `norm1(D)`, `norm_inf(D)`,
// `scale_rows(D, d)`, `scale_cols(D, d)`, `gather(D)`, `to_dense(D)`. Stored transposes are in dist/matrix/stored_transpose.hpp.
#pragma once

#include <utility>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/expr/sparse/algebra.hpp>
#include <sla/expr/sparse/norms.hpp>

namespace sla {

namespace detail {
/// Every rank has the whole, or its rows or columns: what is asked of the whole has an answer. Else one sentence.
template <class D>
constexpr void require_whole_items() {
  static_assert(owners_axis<placements_of_t<D>> >= 0 || all_copied<placements_of_t<D>>,
                "sla: this is asked of a distributed matrix whose batch is sharded: ask it of each rank's part, D.local()");
}

/// The same of what gives all items of a batch: no axis of the mesh shards them.
template <class List>
inline constexpr bool has_all_items = false;
template <class... P>
inline constexpr bool has_all_items<placements<P...>> = ((is_copied(P::kind) || P::kind == placement_kind::sparse_shard || P::kind == placement_kind::hyper) && ...);

/// The communicator of the ranks that share a matrix.
template <class D>
any_communicator& sharing(D const& d) {
  return d.mesh().communicator(owners_axis<placements_of_t<D>>);
}
/// Errors: shape_error, in words that begin with the call, if sides that meet have other extents or owners.
template <class = void>
void require_one_side(char const* call, char const* of, row_partition const& a, row_partition const& b) {
  if (a.extent() != b.extent()) throw shape_error(text(call, ": ", of, " are ", a.extent(), " and ", b.extent(), "; they must be equal"));
  if (!same_rows(&a, &b))
    throw shape_error(text(call, ": ", of, " have other owners: rank ", a.rank(), " has ", a.words(), " of the one, and ", b.words(),
                           " of the other; distribute both by one layout, D.row_layout(), or repartition one"));
}
/// Errors: shape_error, in words that begin with the call, if D is not square, or its columns are not owned as its rows.
template <class D>
void require_square(char const* call, char const* name, D const& d) {
  if (d.rows() != d.cols()) throw shape_error(text(call, ": ", name, " is ", d.rows(), " x ", d.cols(), ", and must be square"));
  if (!d.handle()->domain) return;
  row_partition const &a = *d.handle()->rows, &b = *d.handle()->domain->rows;
  throw shape_error(text(call, ": the rows and columns of ", name, " have other owners: rank ", a.rank(), " has ", a.words(), " of the one, and ", b.words(), " of the other; take repartition(",
                         name, ", ", name, ".row_layout())"));
}
/// Sums over all ranks that share a matrix, of rectangles those of both axes.
template <class D, class T>
void reduce_over_sharing(D const& d, std::span<T> numbers) {
  using List = placements_of_t<D>;
  if constexpr (is_grid<List>) all_reduce(d.mesh().communicator(sparse_axis<List, 0>), numbers);
  if constexpr (owners_axis<List> >= 0) all_reduce(d.mesh().communicator(is_grid<List> ? sparse_axis<List, 1> : owners_axis<List>), numbers);
}
/// The sums of |a| over the rows, Side 0, or columns, 1, that a rank has: of whole ones, so of rows of a D by entries those that it owns. Collective.
template <int Side, class D>
auto sums_of_lines(D const& d) {
  using List = placements_of_t<D>;
  constexpr int along = sparse_axis<List, 1 - Side>; // the ranks of this axis have the same rows (columns)
  auto sums = absolute_sums<Side == 0>(d.local());
  if constexpr (by_entries<List> || (Side == 1 && sparse_dim<List> == 0)) {
    auto const& plan = *(Side == 0 ? d.handle()->fold : d.handle()->halo);
    row_shape const each{d.local().batch_count(), local_of_t<D>::shape_type::block_cols};
    decltype(sums) own(std::size_t(plan.own() * each.size()));
    fold_halo(plan, sums.data(), own.data(), each);
    sums = std::move(own);
  } else if constexpr (along >= 0) {
    all_reduce(d.mesh().communicator(along), std::span(sums));
  }
  return sums;
}
/// The axis of the ranks that have other rows, or columns; none is -1.
template <int Side, class D, class List = placements_of_t<D>>
inline constexpr int axis_across = by_entries<List> || (Side == 1 && sparse_dim<List> == 0) ? owners_axis<List> : sparse_axis<List, Side>;
/// The largest of them of every item.
template <int Side, class D>
auto largest_sums(D const& d) {
  auto out = largest(sums_of_lines<Side>(d), d.local().batch_count());
  if constexpr (constexpr int across = axis_across<Side, D>; across >= 0) all_reduce(d.mesh().communicator(across), std::span(out), monoid::maximum);
  return out;
}
/// Numbers of D as a whole: one computation, which the ranks that share D all make, Invariant.
template <class Numbers, class Local, class Mesh, class... P>
auto common_numbers_of(distributed<Local, Mesh, P...> const& d, Numbers numbers) {
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = d.mesh();
  return distributed<Numbers, Mesh, std::conditional_t<P::kind == placement_kind::sparse_shard || P::kind == placement_kind::hyper, Invariant, P>...>(std::move(numbers), std::move(layout));
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

/// diag(d) D or D diag(d) of rectangles and of entries.
template <bool Rows, class D, class X>
auto scaled_rectangle(D const& d, X const& x) {
  using Layout = typename layouts_of_placements<Rows ? 0 : 1, local_of_t<D>, mesh_of_t<D>, placements_of_t<D>>::type;
  constexpr bool lies = std::same_as<typename X::layout_type, Layout>;
  static_assert(lies, "sla: scale_rows(D, d), scale_cols(D, d): d lies as the side of D that it scales: distribute(d, D.row_layout()) or D.col_layout()");
  if constexpr (!lies) {
    return d.local();
  } else if constexpr (by_entries<placements_of_t<D>>) {
    require_partition(layout_of(x), d.handle(), Rows);
    return scaled<Rows>(d.local(), with_halo<0>(x.local(), *(Rows ? d.handle()->fold : d.handle()->halo)));
  } else {
    constexpr int axis = sparse_axis<placements_of_t<D>, Rows ? 0 : 1>;
    index_t const given = layout_of(x)->extent[axis], wanted = d.handle()->extent[axis];
    if (given != wanted) throw shape_error(text("scale_rows(D, d), scale_cols(D, d): d has ", given, " elements, and D ", wanted, Rows ? " rows" : " columns"));
    return scaled<Rows>(d.local(), x.local());
  }
}
/// The same of rows or columns.
template <bool Rows, class D, class X>
auto scaled_rows_or_columns(D const& d, X const& x) {
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
  if constexpr (Rows)
    return scale_rows(d.local(), x.local());
  else
    return scale_cols(d.local(), of_columns(d, x));
}
template <bool Rows, class D, class X>
auto scaled_part(D const& d, X const& x) {
  auto local = [&] {
    if constexpr (is_grid<placements_of_t<D>> || by_entries<placements_of_t<D>>)
      return scaled_rectangle<Rows>(d, x);
    else
      return scaled_rows_or_columns<Rows>(d, x);
  }();
  return typename distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), d.handle());
}
} // namespace detail

/// The diagonal: zero where no entry is stored. Law: blocks are square.
/// Placement: as the rows (columns) that are sharded: a Shard in D.row_layout(). Cost: no communication; of rectangles an all_reduce over the
/// ranks of a block of rows, of entries a reverse halo, and collective.
/// Errors: shape_error, if D is not square.
template <DistributedSparse D>
auto diagonal_of(D const& d) {
  using Local = local_of_t<D>;
  using S = typename Local::shape_type;
  using To = tensor<typename Local::value_type, range_extents_t<S>>;
  constexpr int sharded = detail::sparse_dim<placements_of_t<D>>;
  using Layout = decltype(d.row_layout());
  auto const placed = [&]<class... P>(vector_layout<mesh_of_t<D>, P...> const& layout, To x) {
    return distributed<To, mesh_of_t<D>, P...>(std::move(x), layout.handle());
  };
  constexpr bool entries = detail::by_entries<placements_of_t<D>>, of_rows = sharded == 0 || entries || detail::is_grid<placements_of_t<D>>;
  if constexpr (sharded < 0 && !entries) {
    return placed(Layout(d.handle()), sla::diagonal_of(d.local()));
  } else {
    if (d.rows() != d.cols()) throw shape_error(text("diagonal_of(D): D is ", d.rows(), " x ", d.cols(), ", and must be square"));
    constexpr index_t P = S::block_rows;
    static_assert(P == S::block_cols, "sla: diagonal_of wants square blocks");
    Local const& A = d.local();
    index_t const side = of_rows ? A.rows() : A.cols();
    To x(detail::extents_after<range_extents_t<S>>(A.shape().batch(), side, P));
    detail::global_places<D> const places{d};
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t j) {
        if (places.row(i) != places.col(j)) return;
        for (index_t b = 0; b < A.batch_count(); ++b)
          for (index_t k = 0; k < P; ++k)
            x.data()[(b * side + (of_rows ? i : j)) * P + k] += A.values()[b * A.batch_stride() + s * P * P + k * (P + 1)];
      });
    if constexpr (detail::is_grid<placements_of_t<D>>) all_reduce(d.mesh().communicator(detail::sparse_axis<placements_of_t<D>, 1>), std::span(x.data(), std::size_t(x.size())));
    if constexpr (entries) x = detail::with_contributions<0>(x, *d.handle()->fold);
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
  detail::reduce_over_sharing(d, std::span(sums));
  return detail::number_per_item(d.local().shape(), sums);
}
template <DistributedSparse D>
auto perform(op::norm, D const& d) {
  detail::require_whole_items<D>();
  auto sums = detail::squared_sums(d.local());
  detail::reduce_over_sharing(d, std::span(sums));
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
  return detail::number_per_item(d.local().shape(), detail::largest_sums<0>(d));
}
template <DistributedSparse D>
auto perform(op::norm1, D const& d) {
  detail::require_whole_items<D>();
  return detail::number_per_item(d.local().shape(), detail::largest_sums<1>(d));
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
  using List = placements_of_t<D>;
  static_assert(detail::has_all_items<List>, "sla: gather(D), to_dense(D): the batch of D is sharded: distribute by rows or columns alone, or take D.local()");
  using Local = local_of_t<D>;
  using F = typename Local::format_type;
  Local const& A = d.local();
  if constexpr (detail::owners_axis<List> < 0) {
    return A;
  } else {
    detail::global_places<D> const places{d};
    typename Local::shape_type const shape(A.shape().batch(), d.rows(), d.cols());
    auto const terms = detail::terms_of(A, [&](index_t i, index_t j) { return detail::entry_place{places.row(i), places.col(j)}; });
    if constexpr (detail::is_grid<List>) { // blocks of rows first
      auto const block = detail::all_terms<F>(d.mesh().communicator(detail::sparse_axis<List, 1>), shape, terms);
      return detail::all_terms<F>(d.mesh().communicator(detail::sparse_axis<List, 0>), shape, detail::terms_of(block));
    } else {
      return detail::all_terms<F>(detail::sharing(d), shape, terms);
    }
  }
}
/// The dense tensor of a distributed matrix on every rank: for tests and little matrices. Collective.
template <DistributedSparse D>
auto to_dense(D const& d) {
  return to_dense(gather(d));
}

} // namespace sla
