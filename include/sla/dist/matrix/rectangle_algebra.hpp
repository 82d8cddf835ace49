// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums and products of matrices in rectangles, rows on one axis of the mesh and columns on another, and cotangents of products. The operators, and matrices by rows, are in
// dist/matrix/algebra_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sla/dist/matrix/multiply_on_ranks.hpp>
#include <sla/tensor/algebra/sampled.hpp>

namespace sla::detail {

/// A matrix, or a view of one, as it is when it is stored.
template <class A>
using stored_on_ranks_t = std::remove_cvref_t<decltype(stored_on_ranks(std::declval<A const&>()))>;
template <class D, class E>
constexpr bool have_rectangles_alike(bool product) {
  using LD = placements_of_t<D>;
  using LE = placements_of_t<E>;
  if constexpr (is_grid<LD> && is_grid<LE> && std::same_as<mesh_of_t<D>, mesh_of_t<E>> && !local_of_t<D>::shape_type::is_batched && !local_of_t<E>::shape_type::is_batched)
    return product ? sparse_axis<LD, 0> == sparse_axis<LE, 0> && sparse_axis<LD, 1> == sparse_axis<LE, 1> : std::same_as<LD, LE>;
  else
    return false;
}
/// Do A and B have sums, or a product, in rectangles?
template <class A, class B, bool Product>
inline constexpr bool rectangles_alike = [] {
  if constexpr (is_grid<placements_of_t<matrix_of_t<A>>> && is_grid<placements_of_t<matrix_of_t<B>>>)
    return have_rectangles_alike<stored_on_ranks_t<A>, stored_on_ranks_t<B>>(Product);
  else
    return false;
}();

template <class NA, class D, class NB, class E>
auto sum_of_rectangles(NA alpha, D const& d, NB beta, E const& e) {
  if (d.rows() != e.rows() || d.cols() != e.cols())
    throw shape_error(text("D + E: the matrices are ", d.rows(), " x ", d.cols(), " and ", e.rows(), " x ", e.cols(), "; they must be equal"));
  auto local = add(alpha, d.local(), beta, e.local());
  return typename distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), d.handle());
}

/// Some columns (rows, where Rows) of A, which the `owner` among the ranks of c has, on all of them. Collective.
template <bool Rows, class Local>
auto panel_on_all(any_communicator& c, int owner, Local const& A, index_t first, index_t count) {
  using T = typename Local::value_type;
  using F = typename Local::format_type;
  using Ptr = typename F::ptr_type;
  using Col = typename F::col_type;
  std::vector<Ptr> ptr;
  std::vector<Col> col;
  std::vector<T> value;
  if (c.rank() == owner) {
    auto const part = [&] {
      if constexpr (Rows)
        return sla::rows(A, first, first + count);
      else
        return sla::cols(A, first, first + count);
    }();
    ptr.assign(part.pattern().row_ptr.begin(), part.pattern().row_ptr.end());
    col.assign(part.pattern().col.begin(), part.pattern().col.end());
    value.assign(part.values().begin(), part.values().end());
  }
  broadcast(c, ptr, owner);
  broadcast(c, col, owner);
  broadcast(c, value, owner);
  buffer<Ptr> row_ptr(index_t(ptr.size()), uninitialized);
  buffer<Col> columns(index_t(col.size()), uninitialized);
  buffer<T> values(index_t(value.size()), uninitialized);
  std::copy(ptr.begin(), ptr.end(), row_ptr.begin());
  std::copy(col.begin(), col.end(), columns.begin());
  std::copy(value.begin(), value.end(), values.begin());
  using Pattern = typename Local::pattern_type;
  index_t const rows = index_t(ptr.size()) - 1, cols = Rows ? A.cols() : count;
  auto pattern = std::make_shared<Pattern const>(Pattern{rows, cols, std::move(row_ptr), std::move(columns)});
  return sparse_tensor<T, open_shape_t<typename Local::shape_type>, F>({{}, rows, cols}, std::move(pattern), std::move(values));
}

/// The placements of a product: those of D, and along the axis of columns those of E.
template <int Axis, class D, class E, int... A>
auto product_placements(std::integer_sequence<int, A...>) -> placements<std::conditional_t<A == Axis, placement_on_t<E, A>, placement_on_t<D, A>>...>;
/// A panel of the dimension that is summed over: the ranks that have its columns of D and its rows of E, along their axes, and from where on in their parts.
struct panel_place {
  int left, right;
  index_t from_left, from_right;
};
/// f(columns of D, rows of E, panel_place) of each panel: the ranks that have one hand it on along their axis. Collective.
template <class D, class E, class F>
void for_panels(D const& d, E const& e, F const& f) {
  constexpr int r = sparse_axis<placements_of_t<D>, 0>, c = sparse_axis<placements_of_t<D>, 1>;
  using Columns = typename placement_on_t<D, c>::family;
  using Rows = typename placement_on_t<E, r>::family;
  auto const& m = d.mesh();
  any_communicator &along = m.communicator(c), &across = m.communicator(r);
  index_t const inner = d.cols();
  std::vector<index_t> cuts;
  for (int p = 0; p <= along.size(); ++p) cuts.push_back(Columns::first(p, inner, along.size()));
  for (int p = 0; p <= across.size(); ++p) cuts.push_back(Rows::first(p, inner, across.size()));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (inner == 0) cuts.push_back(0);
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    index_t const first = cuts[k], count = cuts[k + 1] - first;
    int const left = count ? Columns::owner(first, inner, along.size()) : 0, right = count ? Rows::owner(first, inner, across.size()) : 0;
    panel_place const at{left, right, first - Columns::first(left, inner, along.size()), first - Rows::first(right, inner, across.size())};
    f(panel_on_all<false>(along, left, d.local(), at.from_left, count), panel_on_all<true>(across, right, e.local(), at.from_right, count), at);
  }
}
/// D E by panels. Collective.
template <class D, class E>
auto product_of_rectangles(D const& d, E const& e) {
  constexpr int c = sparse_axis<placements_of_t<D>, 1>;
  if (d.cols() != e.rows()) throw shape_error(text("D * E: the columns of D and the rows of E are ", d.cols(), " and ", e.rows(), "; they must be equal"));
  using Local = decltype(panel_on_all<false>(std::declval<any_communicator&>(), 0, d.local(), 0, 0) * panel_on_all<true>(std::declval<any_communicator&>(), 0, e.local(), 0, 0));
  std::optional<Local> sum;
  for_panels(d, e, [&](auto const& left, auto const& right, panel_place const&) {
    auto one = left * right;
    sum = sum ? add(1, *sum, 1, one) : std::move(one);
  });
  auto layout = std::make_shared<shared_layout<mesh_of_t<D>>>(*d.handle());
  layout->extent[c] = e.cols();
  using List = decltype(product_placements<c, D, E>(std::make_integer_sequence<int, mesh_of_t<D>::rank>{}));
  return typename distributed_with<Local, mesh_of_t<D>, List>::type(std::move(*sum), std::move(layout));
}
/// The values of G E^H where D stores entries, or of D^H G where E does, of G as D E: a panel's places are handed on with it, and what all ranks have for them is summed.
/// Collective.
template <bool OfLeft, class D, class E, class G>
auto product_cotangent(D const& d, E const& e, G const& g) {
  constexpr int r = sparse_axis<placements_of_t<D>, 0>, c = sparse_axis<placements_of_t<D>, 1>;
  auto const& own = [&]() -> auto const& {
    if constexpr (OfLeft)
      return d.local();
    else
      return e.local();
  }();
  using T = typename std::remove_cvref_t<decltype(own)>::value_type;
  any_communicator& c_of = d.mesh().communicator(OfLeft ? c : r);
  vector<T> out(own.values().size());
  for_panels(d, e, [&](auto const& left, auto const& right, panel_place const& at) {
    auto const sampled = [](auto part, auto const& product) {
      std::fill_n(part.values().data(), part.values().size(), T(0));
      add_sample(part, 1, product);
      return part;
    };
    auto part = [&] {
      if constexpr (OfLeft)
        return sampled(left, g.local() * adjoint(right));
      else
        return sampled(right, adjoint(left) * g.local());
    }();
    all_reduce(c_of, std::span<T>(part.values().data(), std::size_t(part.values().size())));
    if (c_of.rank() != (OfLeft ? at.left : at.right)) return;
    index_t const first_row = OfLeft ? 0 : at.from_right, first_column = OfLeft ? at.from_left : 0, columns = part.cols();
    T const* from = part.values().data();
    for (index_t i = 0; i < part.rows(); ++i)
      own.pattern().view().for_row(first_row + i, [&](index_t s, index_t j) {
        if (j < first_column || j >= first_column + columns) return;
        std::copy_n(from, own.block_size, out.data() + s * own.block_size);
        from += own.block_size;
      });
  });
  return out;
}

} // namespace sla::detail
