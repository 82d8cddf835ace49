// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with matrices of which no rank has whole rows, columns or rectangles: by their entries (dist/matrix/to_entries.hpp), with gradients.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include <sla/dist/matrix/to_entries.hpp>
#include <sla/dist/solve/solve_gradient.hpp>

namespace sla {

namespace detail {
template <class A>
using untraced_matrix_t = std::remove_cvref_t<decltype(matrix_of(plain_value(viewed(std::declval<A const&>()))))>;
/// A matrix that no rank has whole rows of, or a view of one; traced, or not.
template <class A>
concept CutOperator = (DistributedOperator<A> || TracedOperator<A>) && cuts_rows<untraced_matrix_t<A>>;
template <class A>
concept CutMatrix = DistributedSparse<A> && cuts_rows<A>;
template <class B>
concept VectorOnRanks = DistributedExpr<B> || TracedDistributedExpr<B>;

/// The matrix by its entries, traced where it is.
template <class D, class A>
auto in_form(std::shared_ptr<entries_form<D> const> const& form, A const& a) {
  if constexpr (Traced<A>) {
    auto rule = linear_in(
        a, [form](auto const&, auto const& g) { return form->values_in_place(g); }, [form](auto const&, auto const& d) { return values(form->matrix(d).local()); });
    return record(a.home(), form->matrix(a.value()), std::move(rule));
  } else {
    return form->matrix(a);
  }
}
template <class Layout>
struct listed_placements;
template <class Mesh, class... Q>
struct listed_placements<vector_layout<Mesh, Q...>> {
  using type = placements<Q...>;
};
template <class Layout>
using placements_of_layout = typename listed_placements<Layout>::type;
/// A vector of copies of blocks as pieces, and back.
template <class Mesh, class List, class Local>
auto with_placements(Local local, layout_handle<Mesh> const& handle) {
  return typename distributed_with<Local, Mesh, List>::type(std::move(local), handle);
}
template <class Local>
auto piece(Local local, layout_handle<line_of_ranks> const& layout) {
  return distributed<Local, line_of_ranks, Shard<0, Part<>>>(std::move(local), layout);
}
template <class Block, class B>
auto pieces_of_copies(std::shared_ptr<Block const> const& block, B const& b) {
  if constexpr (Traced<B>) {
    auto const handle = layout_of(b.value());
    auto rule = linear_in(
        b, [block, handle](auto const&, auto const& g) { return with_placements<mesh_of_t<plain_t<B>>, placements_of_t<cotangent_t<plain_t<B>>>>(block->padded(g.local()), handle); },
        [block](auto const&, auto const& d) { return piece(block->pieces(d.local()), block->layout()); });
    return record(b.home(), piece(block->pieces(eval(b.value()).local()), block->layout()), std::move(rule));
  } else {
    return piece(block->pieces(eval(b).local()), block->layout());
  }
}
template <class Layout, class Block, class X>
auto copies_of_pieces(std::shared_ptr<Block const> const& block, layout_handle<typename Layout::mesh_type> const& handle, X const& x) {
  if constexpr (Traced<X>) {
    auto rule = linear_in(
        x, [block](auto const&, auto const& g) { return piece(block->collected(g.local()), block->layout()); },
        [block, handle](auto const&, auto const& d) { return with_placements<typename Layout::mesh_type, placements_of_layout<Layout>>(block->spread(d.local()), handle); });
    return record(x.home(), with_placements<typename Layout::mesh_type, placements_of_layout<Layout>>(block->spread(x.value().local()), handle), std::move(rule));
  } else {
    return with_placements<typename Layout::mesh_type, placements_of_layout<Layout>>(block->spread(x.local()), handle);
  }
}
/// An option of a solve, in pieces where it is a vector.
template <class Block, class O>
auto option_in_pieces(std::shared_ptr<Block const> const& block, O const& option) {
  if constexpr (wants_guess<O>::value)
    return initial_guess(pieces_of_copies(block, *option.x));
  else
    return option;
}

template <class D, int Side>
using side_layout = typename layouts_of_placements<Side, local_of_t<D>, mesh_of_t<D>, placements_of_t<D>>::type;
/// Vectors of op(A) x = b, A sharded in rectangles: b and x as copies of blocks, solve(b in pieces) in between.
template <class D, bool Transposed, class Layout, class B, class Solve, class... Options>
auto solve_in_pieces(D const& d, Layout const& layout, B const& b, Solve const& solve, Options const&... options) {
  constexpr int of_b = Transposed ? 1 : 0;
  constexpr bool lies = std::same_as<placements_of_t<plain_t<B>>, placements_of_layout<side_layout<D, of_b>>>;
  static_assert(lies || !Transposed, "sla: solve(transpose(D), b) where D is sharded by rows and columns: b lies as the columns of D: distribute(b, D.col_layout())");
  if (layout_of(plain_value(b))->extent[sparse_axis<placements_of_t<D>, of_b>] != d.rows())
    throw shape_error(text("solve(A, b): b has ", layout_of(plain_value(b))->extent[sparse_axis<placements_of_t<D>, of_b>], " elements, and A is ", d.rows(), " x ", d.cols()));
  auto const from = std::make_shared<block_of_side<D, of_b> const>(d, layout);
  auto const to = std::make_shared<block_of_side<D, 1 - of_b> const>(d, layout);
  auto s = solve(pieces_of_copies(from, b), option_in_pieces(to, options)...);
  auto x = copies_of_pieces<side_layout<D, 1 - of_b>>(to, d.handle(), s.x);
  return solution<decltype(x)>{std::move(x), std::move(s.report)};
}

template <class A, class B, class... Options>
auto solve_entries(A const& a, B const& b, Options const&... options) {
  using D = untraced_matrix_t<A>;
  using V = view_orientation<A>;
  auto const& traced_or_plain = matrix_of(viewed(a));
  D const& d = plain_value(traced_or_plain);
  auto const form = std::make_shared<entries_form<D> const>(d);
  auto const matrix = in_form(form, traced_or_plain);
  auto const solve_with = [&](auto const& vector, auto const&... o) {
    if constexpr (V::transposed && V::conj)
      return try_solve(adjoint(matrix), vector, o...);
    else if constexpr (V::transposed)
      return try_solve(transpose(matrix), vector, o...);
    else if constexpr (V::conj)
      return try_solve(conj(matrix), vector, o...);
    else
      return try_solve(matrix, vector, o...);
  };
  if constexpr (entries_form<D>::rectangles)
    return solve_in_pieces<D, V::transposed>(d, form->layout, b, solve_with, options...);
  else
    return solve_with(b, options...);
}
template <class... Options>
constexpr bool require_own_blocks() {
  constexpr bool asks_no_rows = !(requires { typename Options::spans_ranks_tag; } || ...);
  static_assert(asks_no_rows, "sla: solve(A, b, method, preconditioner): this preconditioner asks what others have of the rows of A, and no rank has whole rows of this one (columns, "
                              "rectangles, entries): take one of each rank's own block, jacobi{}, ilu0{}, or distribute A by rows");
  constexpr bool names_a_method = ((wants_method<Options>::value && !std::same_as<Options, automatic>) || ...);
  static_assert(names_a_method, "sla: solve(A, b) without a method picks one for A by rows, and no rank has whole rows of this one (columns, rectangles, entries): name a method and a "
                                "preconditioner of each rank's own block, solve(A, b, cg{}, jacobi{}), or distribute A by rows");
  return asks_no_rows && names_a_method;
}
template <class A, class B, class... Options>
constexpr bool may_solve_entries() {
  using D = untraced_matrix_t<A>;
  constexpr bool checked = !view_orientation<A>::transposed || !is_grid<placements_of_t<D>>;
  if constexpr (checked) require_well_typed<op::solve, D, plain_t<B>>();
  return require_own_blocks<Options...>() && require_entries_form<D>() && (!checked || well_typed<op::solve, D, plain_t<B>>);
}

/// A matrix in rectangles with a method and a preconditioner, set up once: what `prepare(D, ...)` makes of it.
template <class D, class Prepared>
class prepared_rectangles : public throwing_solves<prepared_rectangles<D, Prepared>> {
public:
  template <class... Options>
  explicit prepared_rectangles(D const& d, Options const&... options) : form_(d), d_(d), s_(prepare(form_.matrix(d), options...)) {}

  template <class B, class... Options>
  auto try_solve(B const& b, Options const&... options) const {
    return solve_in_pieces<D, false>(d_, form_.layout, b, [&](auto const& v, auto const&... o) { return s_.try_solve(v, o...); }, options...);
  }
  template <class B, class... Options>
  auto try_solve_transpose(B const& b, Options const&... options) const {
    return solve_in_pieces<D, true>(d_, form_.layout, b, [&](auto const& v, auto const&... o) { return s_.try_solve_transpose(v, o...); }, options...);
  }
  template <class B, class... Options>
  auto try_solve_adjoint(B const& b, Options const&... options) const {
    return solve_in_pieces<D, true>(d_, form_.layout, b, [&](auto const& v, auto const&... o) { return s_.try_solve_adjoint(v, o...); }, options...);
  }
  /// New values on the same pattern. Errors, on every rank: shape_error, if the pattern is another.
  void update(D const& d) {
    together(d.mesh().world(), [&] {
      if (d.local().shape() != d_.local().shape() || !same_pattern(d.local().pattern(), d_.local().pattern()))
        throw shape_error("prepared.update(A): A has another shape or pattern than the matrix that was prepared; prepare(A, ...) anew");
      return 0;
    });
    s_.update(form_.matrix(d));
  }

private:
  entries_form<D> form_;
  D d_;
  Prepared s_;
};
} // namespace detail

/// x with op(A) x = b, A sharded by columns, or by rows and columns on two axes, by its entries: a product sends what ranks read and add up, to
/// those alone. b lies as `A.row_layout()`, x as `A.col_layout()`; of transpose(A) the other way. Gradient: one more solve.
template <detail::CutOperator A, detail::VectorOnRanks B, detail::SolveOption... Options>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  if constexpr (detail::may_solve_entries<A, B, Options...>())
    return detail::solve_entries(a, b, options...);
  else
    return detail::never<solution<B>>();
}
template <detail::CutOperator A, detail::VectorOnRanks B, detail::SolveOption... Options>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  if constexpr (detail::may_solve_entries<A, B, Options...>())
    return detail::solved(detail::solve_entries(a, b, options...));
  else
    return detail::never<B>();
}
template <detail::CutMatrix D, detail::SolveOption... Options>
auto perform(op::prepare, D const& d, Options const&... options) {
  if constexpr (!detail::require_own_blocks<Options...>() || !detail::require_entries_form<D>())
    return detail::none{};
  else if constexpr (detail::is_grid<placements_of_t<D>>)
    return detail::prepared_rectangles<D, decltype(prepare(to_entries(d), options...))>(d, options...);
  else
    return prepare(to_entries(d), options...);
}

} // namespace sla
