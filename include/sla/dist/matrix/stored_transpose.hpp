// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored transposes of distributed sparse tensors, whose rows stay sharded, plans of them, and the global numbers of local entries.
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

/// Does each rank transpose what it has? Copies, rectangles, entries.
template <class D>
inline constexpr bool transposes_in_place = sparse_axis<placements_of_t<D>> < 0 || is_grid<placements_of_t<D>>;
} // namespace detail

/// Where the entries of a transpose that is stored on ranks go, kept: new values on the old pattern travel alone.
///     transpose_plan plan(D);  auto Dt = plan.transpose(D);  plan.update(Dt, D2);
/// Law: D is sharded by rows or by columns. Placement: as of `transposed`. Each call is collective. Cost: each value travels once; about 40 bytes per
/// entry are kept. Errors, on every rank: shape_error, if D is of another pattern, or Dt not of this plan.
template <DistributedSparse D>
class transpose_plan<D> {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using S = typename Local::shape_type;
  using local_type = sparse_tensor<T, transposed_shape_t<S>, typename Local::format_type>;
  static constexpr int axis = detail::sparse_axis<placements_of_t<D>>;
  static_assert(!detail::transposes_in_place<D>, "sla: transpose_plan plan(D): D is sharded by rows or by columns; of others transposed(D) sends nothing, so that there is nothing to keep");

public:
  using result_type = typename detail::distributed_with<local_type, mesh_of_t<D>, typename detail::by_rows<placements_of_t<D>>::type>::type;

  /// Collective.
  explicit transpose_plan(D const& d)
      : old_(d.local().shared_pattern()), entries_(places_of(d)),
        at_(detail::locate<local_type>(entries_.pattern().row_ptr, entries_.pattern().col, whole(d), d.mesh(), axis, d.handle()->extent, detail::domain_layout(d.handle())->rows,
                                       d.handle()->rows)) {}

  result_type transpose(D const& d) const { return {values_of<false>(d), at_.layout}; }
  /// The same, conjugated.
  result_type adjoint(D const& d) const { return {values_of<true>(d), at_.layout}; }
  /// The values of D into Dt, which is of this plan.
  void update(result_type& dt, D const& d) const { fill<false>(dt, d); }
  void update_adjoint(result_type& dt, D const& d) const { fill<true>(dt, d); }

private:
  static typename local_type::shape_type whole(D const& d) {
    auto const& layout = detail::domain_layout(d.handle());
    return {d.local().shape().batch(), layout->rows->extent(), detail::range_layout(d.handle())->extent[axis]};
  }
  static detail::row_delivery places_of(D const& d) {
    Local const& A = d.local();
    detail::global_places<D> const places{d};
    buffer<index_t> row_of(A.nnz(), uninitialized);
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t) { row_of[s] = i; });
    return {d.mesh().communicator(axis), *detail::domain_layout(d.handle())->rows, detail::range_layout(d.handle())->extent[axis], A.nnz(),
            [&](index_t s) { return detail::entry_place{places.col(index_t(A.pattern().col[s])), places.row(row_of[s])}; }};
  }
  template <bool Conj>
  local_type values_of(D const& d) const {
    constexpr index_t P = S::block_rows, Q = S::block_cols;
    Local const& A = d.local();
    any_communicator& c = d.mesh().communicator(axis);
    detail::together(c, [&] {
      if (!same_pattern(A.pattern(), *old_))
        throw shape_error(text("a transpose plan of ", old_->nnz(), " entries on rank ", c.rank(), " is given another pattern, of ", A.nnz(), " entries; make a plan of that one"));
      return 0;
    });
    auto const values = entries_.template values<T>(c, A.batch_count(), P * Q, [&](index_t s, T* to) {
      for (index_t b = 0; b < A.batch_count(); ++b) {
        T const* const from = A.values().data() + b * A.batch_stride() + s * P * Q;
        for (index_t q = 0; q < Q; ++q)
          for (index_t p = 0; p < P; ++p) {
            T const v = from[p * Q + q];
            *to++ = Conj ? T(conj_of(to_kernel(v))) : v;
          }
      }
    });
    return at_.template tensor_of<local_type>(whole(d), values.data());
  }
  template <bool Conj>
  void fill(result_type& dt, D const& d) const {
    detail::together(d.mesh().communicator(axis), [&] {
      if (dt.local().shared_pattern() != at_.pattern) throw shape_error("a transpose plan: Dt must come from this plan: Dt = plan.transpose(D)");
      return 0;
    });
    dt.local() = values_of<Conj>(d);
  }

  std::shared_ptr<typename Local::pattern_type const> old_;
  detail::row_delivery entries_;
  detail::local_entries<local_type, mesh_of_t<D>> at_;
};
template <DistributedSparse D>
transpose_plan(D const&) -> transpose_plan<D>;

namespace detail {
template <bool Conj, class D>
auto stored_transpose(D const& d) {
  if constexpr (transposes_in_place<D>) {
    auto local = [&] {
      if constexpr (Conj)
        return adjointed(d.local());
      else
        return transposed(d.local());
    }();
    auto handle = d.handle();
    if constexpr (by_entries<placements_of_t<D>>) {
      auto turned = std::make_shared<shared_layout<mesh_of_t<D>>>(*handle);
      std::swap(turned->halo, turned->fold);
      handle = std::move(turned);
    }
    return typename distributed_with<decltype(local), mesh_of_t<D>, typename by_rows<placements_of_t<D>>::type>::type(std::move(local), std::move(handle));
  } else if constexpr (Conj) {
    return transpose_plan<D>(d).adjoint(d);
  } else {
    return transpose_plan<D>(d).transpose(d);
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
