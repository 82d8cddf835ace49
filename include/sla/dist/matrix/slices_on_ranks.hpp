// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of distributed matrices and vectors, with gradients: `rows(D, first, last)` stay where they are, `select_rows(D, mine)` go to the ranks that
// name them. Those of one rank are in tensor/arrange/slice.hpp.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sla/dist/matrix/algebra_gradient.hpp>
#include <sla/dist/step/local_ghosts.hpp>

namespace sla {

namespace detail {
/// Rows as a slice has them: its owners, and which row of the whole each of this rank's is.
struct slice_of_rows {
  std::shared_ptr<row_partition const> rows;
  std::vector<index_t> source;
};
/// Those of a range: each stays on its owner. Collective. Errors, on every rank: index_error.
template <class = void>
slice_of_rows range_of_rows(any_communicator& c, row_partition const& own, index_t first, index_t last) {
  require_agreement(c, "rows(D, first, last)", "first, last", std::array<index_t, 2>{first, last});
  (void)chosen_range(first, last, own.extent(), "rows");
  slice_of_rows out;
  for (index_t k = 0; k < own.count(); ++k)
    if (index_t const i = own.global(k); i >= first && i < last) out.source.push_back(i);
  if (own.contiguous()) {
    std::vector<index_t> starts;
    for (int r = 0; r <= own.ranks(); ++r) starts.push_back((std::clamp)(own.first(r), first, last) - first);
    out.rows = std::make_shared<row_partition const>(owner_map(std::move(starts)), c.rank());
  } else {
    std::vector<index_t> moved;
    for (index_t i : out.source) moved.push_back(i - first);
    std::vector<int> const mine(moved.size(), c.rank());
    out.rows = std::make_shared<row_partition const>(c, last - first, std::span<index_t const>(moved), std::span<int const>(mine));
  }
  return out;
}
/// Those that each rank names, rank after rank. Collective. Errors, on every rank: index_error.
template <class Rows>
slice_of_rows listed_rows(any_communicator& c, row_partition const& own, Rows const& mine) {
  slice_of_rows out{nullptr, {std::begin(mine), std::end(mine)}};
  together(c, [&] {
    for (index_t i : out.source)
      if (i < 0 || i >= own.extent()) throw index_error(text("select_rows on rank ", c.rank(), ": row ", i, "; there are ", own.extent()));
    return 0;
  });
  std::vector<index_t> starts{0};
  for (index_t n : all_gather(c, index_t(out.source.size()))) starts.push_back(starts.back() + n);
  out.rows = std::make_shared<row_partition const>(owner_map(std::move(starts)), c.rank());
  return out;
}

/// The rows of D that a slice has. Collective.
template <class D>
D sliced(D const& d, slice_of_rows const& slice) {
  using Local = local_of_t<D>;
  constexpr index_t block = Local::block_size;
  any_communicator& c = d.handle()->halo->communicator();
  ghost_numbers const numbers(c, *d.handle()->rows, slice.source);
  auto const halo = numbers.plan(c);
  rows_read const all(*halo, d);
  auto const values = all.values(c, d.local());
  rank_rows<typename Local::value_type> part;
  std::vector<index_t> from;
  for (index_t i : slice.source) {
    index_t const row = numbers.local(i);
    for (index_t s = all.pattern->row_ptr[row]; s < all.pattern->row_ptr[row + 1]; ++s) part.col.push_back(all.pattern->col[s]), from.push_back(s);
    part.ptr.push_back(index_t(part.col.size()));
  }
  part.values = buffer<typename Local::value_type>(index_t(from.size()) * block, uninitialized);
  for (std::size_t n = 0; n < from.size(); ++n) std::copy_n(values.data() + from[n] * block, block, part.values.data() + index_t(n) * block);
  auto [local, layout] = localize<Local>(part, typename Local::shape_type({}, slice.rows->extent(), d.cols()), d.mesh(), sparse_axis<placements_of_t<D>>, d.handle()->extent, slice.rows,
                                         domain_layout(d.handle())->rows);
  return D(std::move(local), std::move(layout));
}
/// Its adjoint: the rows of g added up in those of D that they are. Collective.
template <class D>
D spread_rows(D const& d, slice_of_rows const& slice, D const& g) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  global_places<D> const places{g};
  auto const terms = terms_of(g.local(), [&](index_t i, index_t j) { return entry_place{slice.source[std::size_t(i)], places.col(j)}; });
  auto const sums = deliver<T>(d.handle()->halo->communicator(), *d.handle()->rows, d.cols(), index_t(terms.place.size()), 1, Local::block_size,
                               [&](index_t k) { return terms.place[std::size_t(k)]; },
                               [&](index_t k, T* to) { std::copy_n(terms.value.data() + k * Local::block_size, Local::block_size, to); });
  auto [local, layout] = localize<Local>(sums, typename Local::shape_type({}, d.rows(), d.cols()), d.mesh(), sparse_axis<placements_of_t<D>>, d.handle()->extent, d.handle()->rows,
                                         domain_layout(d.handle())->rows);
  return D(std::move(local), std::move(layout));
}

/// Vectors whose rows one axis shards as found at run time, and others have copies of.
template <class P>
inline constexpr bool is_found_shard = false;
template <class F>
inline constexpr bool is_found_shard<Shard<0, F>> = !F::stated;
template <class List>
inline constexpr int found_shard_axis = -1;
template <class... P>
  requires((int(is_found_shard<P>) + ... + 0) == 1 && ((is_found_shard<P> || is_copied(P::kind)) && ...))
inline constexpr int found_shard_axis<placements<P...>> = [] {
  int a = 0, found = 0;
  ((is_found_shard<P> ? void(found = a++) : void(a++)), ...);
  return found;
}();
/// The rows of a vector that a slice has: those of this rank, and of others.
class sliced_vector {
public:
  /// Collective.
  template <class = void>
  sliced_vector(any_communicator& c, row_partition const& own, slice_of_rows const& slice) : own_(own.count()) {
    ghost_numbers const numbers(c, own, slice.source);
    halo_ = numbers.plan(c);
    for (index_t i : slice.source) at_.push_back(numbers.local(i));
  }
  template <class Local>
  Local rows(Local const& x) const {
    auto const all = with_halo<0>(x, *halo_);
    Local out(with_extent<typename Local::extents_type>(x.extents(), 0, index_t(at_.size())), uninitialized);
    index_t const inner = around(x.extents(), 0).second;
    for (std::size_t n = 0; n < at_.size(); ++n) std::copy_n(all.data() + at_[n] * inner, inner, out.data() + index_t(n) * inner);
    return out;
  }
  /// Its adjoint.
  template <class Local>
  Local spread(Local const& g) const {
    Local all(with_extent<typename Local::extents_type>(g.extents(), 0, own_ + halo_->ghosts()));
    index_t const inner = around(g.extents(), 0).second;
    for (std::size_t n = 0; n < at_.size(); ++n)
      for (index_t k = 0; k < inner; ++k) all[at_[n] * inner + k] += g[index_t(n) * inner + k];
    return with_contributions<0>(all, *halo_);
  }

private:
  index_t own_;
  std::shared_ptr<halo_plan const> halo_;
  std::vector<index_t> at_;
};

template <class X>
concept SlicedOnRanks = DistributedSparse<X> || DistributedTensor<X> || TracedRows<X> || (Traced<X> && DistributedTensor<plain_t<X>>);
template <class X>
constexpr bool require_sliceable() {
  using V = plain_t<X>;
  constexpr bool fits = [] {
    if constexpr (DistributedSparse<V>)
      return has_found_rows<placements_of_t<V>> && !local_of_t<V>::shape_type::is_batched;
    else
      return found_shard_axis<placements_of_t<V>> >= 0;
  }();
  static_assert(fits, "sla: rows(D, first, last), select_rows(D, mine) on ranks: D is a matrix without a batch that is sharded by rows, SparseShard<0>, or a vector that lies as one, in "
                      "D.row_layout(); of columns and others take gather(D)");
  return fits;
}
/// What `choose(communicator, rows)` takes of X.
template <class X, class Choose>
auto rows_on_ranks(X const& x, Choose const& choose) {
  if constexpr (!require_sliceable<X>()) {
    return x;
  } else if constexpr (Traced<X> && DistributedSparse<plain_t<X>>) {
    auto const& d = x.value();
    auto const slice = std::make_shared<slice_of_rows const>(choose(d.handle()->halo->communicator(), *d.handle()->rows));
    auto const* const own = &x.variable();
    auto rule = linear_in(
        x, [slice, own](auto const&, auto const& g) { return values_where_stored(own->value(), spread_rows(own->value(), *slice, g)); },
        [slice](auto const&, auto const& t) { return values(sliced(t, *slice).local()); });
    return record(x.home(), sliced(d, *slice), std::move(rule));
  } else if constexpr (DistributedSparse<X>) {
    return sliced(x, choose(x.handle()->halo->communicator(), *x.handle()->rows));
  } else {
    using V = plain_t<X>;
    constexpr int axis = found_shard_axis<placements_of_t<V>>;
    V const& v = plain_value(x);
    any_communicator& c = v.mesh().communicator(axis);
    auto const slice = choose(c, *v.handle()->rows);
    auto layout = std::make_shared<shared_layout<mesh_of_t<V>>>();
    layout->mesh = v.mesh();
    layout->extent = v.handle()->extent;
    layout->extent[axis] = slice.rows->extent();
    layout->rows = slice.rows;
    layout_handle<mesh_of_t<V>> const to = std::move(layout), back = v.handle();
    auto const taken = std::make_shared<sliced_vector const>(c, *back->rows, slice);
    if constexpr (Traced<X>) {
      auto rule = linear_in(
          x,
          [taken, back](auto const&, auto const& g) {
            using G = std::remove_cvref_t<decltype(g)>;
            return G(taken->spread(g.local()), back);
          },
          [taken, to](auto const&, auto const& t) {
            using G = std::remove_cvref_t<decltype(t)>;
            return G(taken->rows(t.local()), to);
          });
      return record(x.home(), V(taken->rows(v.local()), to), std::move(rule));
    } else {
      return V(taken->rows(v.local()), to);
    }
  }
}
} // namespace detail

/// Rows [first, last) of a distributed matrix or vector, in global numbers: each stays on its owner. Collective. Law: D is sharded by rows, without a
/// batch, or a vector that lies so. Placement: that of D; the columns of a matrix are owned as those of D, also where it comes out square: solve it as repartition(E, E.row_layout()). Gradient: g where
/// it was taken from. Cost: numbers of ghosts. Errors, on every rank: index_error; value_error, if ranks disagree.
template <detail::SlicedOnRanks X>
auto rows(X const& x, index_t first, index_t last) {
  return detail::rows_on_ranks(x, [=](any_communicator& c, row_partition const& own) { return detail::range_of_rows(c, own, first, last); });
}
/// Row i of a distributed matrix, on its owner.
template <detail::SlicedOnRanks X>
auto row(X const& x, index_t i) {
  return rows(x, i, i + 1);
}
/// The rows that the ranks name, in global numbers: those that this rank names are its part of the result, in its order; any rank may name any row, more
/// than once. Collective. Law, placement, gradient: as of `rows`. Cost: each row travels to the ranks that name it. Errors, on every rank: index_error.
template <detail::SlicedOnRanks X, class Rows = std::initializer_list<index_t>>
auto select_rows(X const& x, Rows const& mine) {
  return detail::rows_on_ranks(x, [&](any_communicator& c, row_partition const& own) { return detail::listed_rows(c, own, mine); });
}

} // namespace sla
