// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices of which no rank has whole rows as partitions of entries: `to_entries(D)` of columns or rectangles leaves every entry where it is, and
// numbers what it reads and what it adds to; and how vectors of rectangles become pieces, and come back. What solves so: dist/solve/solve_entries.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/dist/assembly/nonzeros.hpp>
#include <sla/dist/matrix/stored_transpose.hpp>
#include <sla/dist/step/local_ghosts.hpp>

namespace sla {

namespace detail {
/// Does no rank have whole rows, but columns or rectangles?
template <class D>
inline constexpr bool cuts_rows = false;
template <class Local, class Mesh, class... P>
inline constexpr bool cuts_rows<distributed<Local, Mesh, P...>> = is_sparse_tensor<Local> && (is_side<P, 1> || ...);

/// The mesh of all ranks of a mesh of rectangles, those of one block of rows beside each other.
using line_of_ranks = mesh<axis<"ranks">>;
/// Rectangles as pieces: who owns which indices where each block of rows is cut among the ranks that have some of it.
template <class D>
row_partition pieces_of(D const& d, int rank) {
  constexpr int r = sparse_axis<placements_of_t<D>, 0>, c = sparse_axis<placements_of_t<D>, 1>;
  using Rows = typename placement_on_t<D, r>::family;
  int const blocks = d.mesh().size(r), parts = d.mesh().size(c);
  std::vector<index_t> first;
  for (int b = 0; b < blocks; ++b)
    for (int p = 0; p < parts; ++p)
      first.push_back(Rows::first(b, d.rows(), blocks) + Balanced::first(p, Rows::local_extent(b, d.rows(), blocks), parts));
  first.push_back(d.rows());
  return {owner_map(std::move(first)), rank};
}
template <class D>
line_of_ranks line_of(D const& d) {
  constexpr int r = sparse_axis<placements_of_t<D>, 0>, c = sparse_axis<placements_of_t<D>, 1>;
  auto const& m = d.mesh();
  auto const world = r < c ? m.world_handle() : m.world_handle()->split(0, m.coordinate(r) * m.size(c) + m.coordinate(c));
  return line_of_ranks(world);
}

template <class List>
struct entries_placements;
template <class... P>
struct entries_placements<placements<P...>> {
  template <class Q>
  struct one {
    using type = Q;
  };
  template <int Axis, class F>
  struct one<SparseShard<Axis, F>> {
    using type = Hyper<F>;
  };
  using type = std::conditional_t<is_grid<placements<P...>>, placements<Hyper<>>, placements<typename one<P>::type...>>;
};
/// How the entries of D are numbered, for its values and for those of others on its pattern.
template <class D>
struct entries_form {
  using List = placements_of_t<D>;
  static constexpr bool rectangles = is_grid<List>;
  using mesh_type = std::conditional_t<rectangles, line_of_ranks, mesh_of_t<D>>;
  static constexpr int axis = rectangles ? 0 : sparse_axis<List>;
  using format = local_csr_t<typename local_of_t<D>::format_type>;
  using matrix_type = typename distributed_with<sparse_tensor<typename local_of_t<D>::value_type, Matrix, format>, mesh_type, typename entries_placements<List>::type>::type;

  numbered_entries<format> entries;
  layout_handle<mesh_type> layout;

  /// Collective. Errors: shape_error, if D is not square.
  explicit entries_form(D const& d) {
    if (d.rows() != d.cols()) throw shape_error(text("to_entries(D), solve(D, b): D is ", d.rows(), " x ", d.cols(), ", and must be square"));
    auto made = std::make_shared<shared_layout<mesh_type>>();
    if constexpr (rectangles) {
      made->mesh = line_of(d);
      made->rows = std::make_shared<row_partition const>(pieces_of(d, made->mesh.coordinate(0)));
    } else {
      made->mesh = d.mesh();
      made->extent = d.handle()->extent;
      made->rows = d.handle()->rows;
    }
    made->extent[axis] = d.rows();
    global_places<D> const places{d};
    std::vector<placed_entry> all;
    all.reserve(std::size_t(d.local().nnz()));
    for (index_t i = 0; i < d.local().rows(); ++i)
      d.local().pattern().view().for_row(i, [&](index_t slot, index_t j) { all.push_back({places.row(i), places.col(j), slot}); });
    entries = number_entries<format>(made->mesh.communicator(axis), *made->rows, std::move(all));
    made->fold = entries.rows;
    made->halo = entries.columns;
    layout = std::move(made);
  }
  matrix_type matrix(D const& d) const { return {entries.tensor_of(d.local().values().data()), layout}; }
  /// Values of such a matrix in the slots of D.
  template <class G>
  auto values_in_place(G const& g) const {
    vector<typename G::local_type::value_type> out({entries.from.size()}, uninitialized);
    for (index_t n = 0; n < out.size(); ++n) out[entries.from[n]] = g.local().values()[n];
    return out;
  }
};
template <class D>
constexpr bool require_entries_form() {
  using S = typename local_of_t<D>::shape_type;
  constexpr bool fits = cuts_rows<D> && !S::is_batched && !S::is_blocked && (!is_grid<placements_of_t<D>> || mesh_of_t<D>::rank == 2);
  static_assert(fits, "sla: to_entries(D), solve(D, b) where no rank has whole rows: D has no batch and no blocks, and is sharded by columns, SparseShard<1>, or by rows and columns on "
                      "the two axes of its mesh, SparseShard<0, F> x SparseShard<1, G>; distribute others by rows, SparseShard<0>");
  return fits;
}
} // namespace detail

/// The same matrix as a partition of its entries, each of which stays on its rank: it multiplies and solves with vectors that one owner has,
/// `D.row_layout()` of the result. Of columns they lie as before; of rectangles, SparseShard<0, F> x SparseShard<1, G>, they are pieces, one on
/// each rank of both axes. Law: D is square, without batch and blocks, and sharded by columns or by rows and columns on a mesh of two axes.
/// Collective. Cost: the numbers of ghosts travel. Errors: shape_error, if D is not square.
template <DistributedSparse D>
auto to_entries(D const& d) {
  if constexpr (detail::require_entries_form<D>())
    return detail::entries_form<D>(d).matrix(d);
  else
    return d;
}

namespace detail {
/// What a rank of rectangles reads of pieces: its block of rows, Side 0, or of columns, 1.
template <class D, int Side>
class block_of_side {
  static constexpr int axis = sparse_axis<placements_of_t<D>, Side>, other = sparse_axis<placements_of_t<D>, 1 - Side>;
  using Family = typename placement_on_t<D, axis>::family;

public:
  /// Collective.
  block_of_side(D const& d, layout_handle<line_of_ranks> const& layout) : layout_(layout), is_first_(d.mesh().coordinate(other) == 0) {
    int const me = d.mesh().coordinate(axis), parts = d.mesh().size(axis);
    first_ = Family::first(me, d.rows(), parts);
    std::vector<index_t> used(static_cast<std::size_t>(Family::local_extent(me, d.rows(), parts)));
    std::iota(used.begin(), used.end(), first_);
    row_partition const& own = *layout->rows;
    ghost_numbers const numbers(layout->mesh.communicator(0), own, used);
    plan_ = numbers.plan(layout->mesh.communicator(0));
    for (index_t j : used) at_.push_back(numbers.local(j));
  }
  /// The block of a vector of pieces, on every rank that reads it. Collective.
  template <class Local>
  auto spread(Local const& pieces) const {
    auto const all = with_halo<0>(pieces, *plan_);
    return moved(all, index_t(at_.size()), [&](auto const* from, auto* to, index_t inner) {
      for (std::size_t n = 0; n < at_.size(); ++n) std::copy_n(from + at_[n] * inner, inner, to + index_t(n) * inner);
    });
  }
  /// Its adjoint: the sums of what all ranks have for their blocks, as pieces. Collective.
  template <class Local>
  auto collected(Local const& block) const {
    return with_contributions<0>(moved(block, plan_->own() + plan_->ghosts(),
                                       [&](auto const* from, auto* to, index_t inner) {
                                         for (std::size_t n = 0; n < at_.size(); ++n) std::copy_n(from + index_t(n) * inner, inner, to + at_[n] * inner);
                                       }),
                                 *plan_);
  }
  /// The pieces of a vector whose block the ranks of the other axis have alike. Collective, of columns.
  template <class Local>
  auto pieces(Local const& block) const {
    if constexpr (Side == 1) {
      return collected(is_first_ ? block : Local(block.extents()));
    } else {
      row_partition const& own = *layout_->rows;
      return moved(block, own.count(), [&](auto const* from, auto* to, index_t inner) {
        std::copy_n(from + (own.first(own.rank()) - first_) * inner, own.count() * inner, to);
      });
    }
  }
  /// Its adjoint, on one rank of the other axis each: a sum over it.
  template <class Local>
  auto padded(Local const& pieces) const {
    if constexpr (Side == 1) {
      auto block = spread(pieces);
      return is_first_ ? block : decltype(block)(block.extents());
    } else {
      row_partition const& own = *layout_->rows;
      return moved(pieces, index_t(at_.size()), [&](auto const* from, auto* to, index_t inner) {
        std::copy_n(from, own.count() * inner, to + (own.first(own.rank()) - first_) * inner);
      });
    }
  }
  layout_handle<line_of_ranks> const& layout() const { return layout_; }

private:
  template <class Local, class F>
  static auto moved(Local const& x, index_t count, F const& f) {
    using To = resized_t<Local, 0>;
    To out(with_extent<typename To::extents_type>(x.extents(), 0, count));
    f(x.data(), out.data(), around(x.extents(), 0).second);
    return out;
  }
  layout_handle<line_of_ranks> layout_;
  std::shared_ptr<halo_plan const> plan_;
  std::vector<index_t> at_;
  index_t first_ = 0;
  bool is_first_;
};

/// The entries of D whose row and column this rank owns, wherever they are: what local preconditioners see. Collective.
template <class D>
auto own_block(D const& d) {
  using Local = local_of_t<D>;
  using T = typename Local::value_type;
  using F = typename Local::format_type;
  Local const& A = d.local();
  auto const& own = *d.handle()->rows;
  global_places<D> const places{d};
  any_communicator& c = d.handle()->halo->communicator();
  auto const of_row = own.owners_of(c, A.rows(), [&](index_t i) { return places.row(i); }), of_column = own.owners_of(c, A.cols(), [&](index_t j) { return places.col(j); });
  std::vector<placed_entry> inner;
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t slot, index_t j) {
      if (of_row[std::size_t(i)] == of_column[std::size_t(j)]) inner.push_back({places.row(i), places.col(j), slot});
    });
  auto const slice = deliver<T>(
      c, own, own.extent(), index_t(inner.size()), 1, 1,
      [&](index_t k) { return entry_place{inner[std::size_t(k)].row, inner[std::size_t(k)].col}; },
      [&](index_t k, T* to) { *to = A.values()[inner[std::size_t(k)].slot]; });
  buffer<typename F::ptr_type> ptr(own.count() + 1, uninitialized);
  buffer<typename F::col_type> col(index_t(slice.col.size()), uninitialized);
  for (index_t i = 0; i <= own.count(); ++i) ptr[i] = typename F::ptr_type(slice.ptr[std::size_t(i)]);
  for (index_t s = 0; s < col.size(); ++s) col[s] = typename F::col_type(own.local(slice.col[std::size_t(s)]));
  using Pattern = typename Local::pattern_type;
  auto shared = std::make_shared<Pattern const>(Pattern{own.count(), own.count(), std::move(ptr), std::move(col)});
  return sparse_tensor<T, Matrix, F>(Matrix(own.count(), own.count()), std::move(shared), slice.values);
}
} // namespace detail

} // namespace sla
