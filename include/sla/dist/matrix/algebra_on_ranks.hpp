// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse algebra across ranks, with sparse results: D + E, D - E, D * E, s * D, functions of entries, of matrices whose rows are on ranks; views are stored first:
// transpose(P) * (D * P). That of one rank is in expr/sparse/algebra.hpp; scaling by rows and columns in dist/matrix/matrix_functions.hpp.
#pragma once

#include <utility>

#include <sla/dist/matrix/rectangle_algebra.hpp>

namespace sla {

namespace detail {
template <class NA, class D, class NB, class E>
auto sum_on_ranks(NA alpha, D const& d, NB beta, E const& e) {
  require_one_side("D + E", "their rows", *d.handle()->rows, *e.handle()->rows);
  auto const& columns = domain_layout(d.handle())->rows;
  require_one_side("D + E", "their columns", *columns, *domain_layout(e.handle())->rows);
  return with_local_columns(d, add(alpha, global_rows(d), beta, global_rows(e)), columns);
}

template <class D, class E>
auto product_on_ranks(D const& d, E const& e) {
  return multiply_plan<D, E>(d, e)(d, e);
}

/// s D, or D / s: on D's pattern, no communication.
template <class D, class F>
auto scaled_on_ranks(D const& d, F const& f) {
  auto local = f(d.local());
  return typename distributed_with<decltype(local), mesh_of_t<D>, placements_of_t<D>>::type(std::move(local), d.handle());
}
template <class A>
using literal_of = std::type_identity_t<literal<typename matrix_of_t<A>::value_type>>;
} // namespace detail

/// D + E and D - E on the union of their patterns. Law: both are sharded by rows on one axis, with the same owners, or in the same rectangles (no
/// communication). Placement: theirs.
/// Collective: columns are numbered again. Cost: time and memory of both; the numbers of ghosts travel. Gradient: dist/matrix/algebra_gradient.hpp.
/// Errors, on every rank: shape_error, if their extents or owners differ.
template <DistributedOperator A, DistributedOperator B>
auto operator+(A const& a, B const& b) {
  constexpr bool rectangles = detail::rectangles_alike<A, B, false>;
  static_assert(detail::rows_alike<A, B> || rectangles, "sla: D + E of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                                        "partitioner), or in the same rectangles; of others add what they make, D * x + E * x");
  if constexpr (rectangles)
    return detail::sum_of_rectangles(1, detail::stored_on_ranks(a), 1, detail::stored_on_ranks(b));
  else if constexpr (detail::rows_alike<A, B>)
    return detail::sum_on_ranks(1, detail::stored_on_ranks(a), 1, detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
template <DistributedOperator A, DistributedOperator B>
auto operator-(A const& a, B const& b) {
  constexpr bool rectangles = detail::rectangles_alike<A, B, false>;
  static_assert(detail::rows_alike<A, B> || rectangles, "sla: D - E of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                                        "partitioner), or in the same rectangles; of others subtract what they make, D * x - E * x");
  if constexpr (rectangles)
    return detail::sum_of_rectangles(1, detail::stored_on_ranks(a), -1, detail::stored_on_ranks(b));
  else if constexpr (detail::rows_alike<A, B>)
    return detail::sum_on_ranks(1, detail::stored_on_ranks(a), -1, detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
/// D * E, sparse. Law: both are sharded by rows on one axis; E's rows are owned as D's columns are; no batches. Placement: rows as D's, columns
/// as E's. Collective. Cost: the rows of E that D's ghosts name travel once; else that of the product of a rank's rows. `multiply_plan plan(D, E)`
/// multiplies new values without looking for the pattern again. Gradient: as of the sum.
/// Of rectangles, SparseShard<0, F> x SparseShard<1, G> of the same two axes (SUMMA): rows as D's, columns as E's; each rank hears the
/// panels of its rows of D and its columns of E, one of each at a time. Source: van de Geijn and Watts, SUMMA: scalable universal matrix multiplication
/// algorithm (1997). Errors, on every rank: shape_error, if the sides that meet differ in extents or owners.
template <DistributedOperator A, DistributedOperator B>
auto operator*(A const& a, B const& b) {
  constexpr bool plain = !local_of_t<detail::matrix_of_t<A>>::shape_type::is_batched && !local_of_t<detail::matrix_of_t<B>>::shape_type::is_batched;
  constexpr bool rectangles = detail::rectangles_alike<A, B, true>;
  static_assert((detail::rows_alike<A, B> && plain) || rectangles, "sla: D * E of distributed matrices: both are sharded by rows, over one axis of one mesh, and have no batch: "
                                                                   "distribute<SparseShard<0>>(A, mesh, partitioner), or in rectangles of the same two axes; of others apply one "
                                                                   "after the other, D * (E * x)");
  if constexpr (rectangles)
    return detail::product_of_rectangles(detail::stored_on_ranks(a), detail::stored_on_ranks(b));
  else if constexpr (detail::rows_alike<A, B> && plain)
    return detail::product_on_ranks(detail::stored_on_ranks(a), detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
/// A multiple of D, whatever its placement, in that. The number stands in the program, or is `uniform(s)`. No communication. Gradient: conj(s) g.
template <DistributedOperator A>
auto operator*(detail::literal_of<A> s, A const& a) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return s.value() * local; });
}
template <DistributedOperator A>
auto operator*(A const& a, detail::literal_of<A> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local * s.value(); });
}
template <DistributedOperator A>
auto operator/(A const& a, detail::literal_of<A> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local / s.value(); });
}
template <class T, DistributedOperator A>
auto operator*(uniform_number<T> s, A const& a) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return s.value() * local; });
}
template <class T, DistributedOperator A>
auto operator*(A const& a, uniform_number<T> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local * s.value(); });
}
template <class T, DistributedOperator A>
auto operator/(A const& a, uniform_number<T> s) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [&](auto const& local) { return local / s.value(); });
}
template <DistributedOperator A>
auto operator-(A const& a) {
  return detail::scaled_on_ranks(detail::stored_on_ranks(a), [](auto const& local) { return -local; });
}

template <DistributedSparse D, DistributedOperator E>
D& operator+=(D& d, E const& e) {
  return d = d + e;
}
template <DistributedSparse D, DistributedOperator E>
D& operator-=(D& d, E const& e) {
  return d = d - e;
}
template <DistributedSparse D>
D& operator*=(D& d, detail::literal_of<D> s) {
  return d = d * s;
}
template <DistributedSparse D>
D& operator/=(D& d, detail::literal_of<D> s) {
  return d = d / s;
}
/// alpha D + beta E; the numbers stand in the program.
template <DistributedOperator A, DistributedOperator B>
auto add(detail::literal_of<A> alpha, A const& a, detail::literal_of<B> beta, B const& b) {
  return alpha * a + beta * b;
}
/// transpose(D), conj(D), adjoint(D), stored. Collective where it is transposed.
template <DistributedOperator A>
  requires is_distributed_view<A>
auto perform(op::eval, A const& a) {
  return detail::stored_on_ranks(a);
}

/// abs, sqrt, sin, tanh, real, imag, ... of the stored entries: functions that are 0 at 0. Placement: that of D. No communication.
template <class Op, DistributedSparse D>
  requires(is_elementwise<Op> && !std::same_as<Op, op::conj> && Performs<Op, local_of_t<D> const&>)
auto perform(Op op, D const& d) {
  constexpr bool finished = !detail::has_pending<placements_of_t<D>> || detail::is_additive<Op>;
  static_assert(finished, "sla: a function of the entries of a pending sum of matrices: the function of a sum is not the sum of the functions; assemble<axis, SparseShard<0>>(D) first");
  return detail::scaled_on_ranks(d, [op](auto const& local) { return perform(op, local); });
}
/// D with its entries in another precision.
template <class To, DistributedSparse D>
auto cast(D const& d) {
  return detail::scaled_on_ranks(d, [](auto const& local) { return cast<To>(local); });
}

namespace detail {
/// f of the rows of two matrices that lie alike, by global numbers of columns, as a matrix that lies so. Collective.
template <class A, class B, class F>
auto entry_by_entry(char const* call, A const& a, B const& b, F const& f) {
  static_assert(rows_alike<A, B>, "sla: masked(D, M), multiply_elements(D, E) of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                  "partitioner)");
  if constexpr (rows_alike<A, B>) {
    auto const& d = stored_on_ranks(a);
    auto const& e = stored_on_ranks(b);
    require_one_side(call, "their rows", *d.handle()->rows, *e.handle()->rows);
    auto const& columns = domain_layout(d.handle())->rows;
    require_one_side(call, "their columns", *columns, *domain_layout(e.handle())->rows);
    return with_local_columns(d, f(global_rows(d), global_rows(e)), columns);
  } else {
    return matrix_of(a);
  }
}
} // namespace detail
/// The entries of D at the places that M stores, and the product of entries at the same place, which both store. Law, placement, errors: as of D + E.
/// Collective: columns are numbered again. Gradient: dist/matrix/algebra_gradient.hpp.
template <DistributedOperator A, DistributedOperator M>
auto masked(A const& a, M const& m) {
  return detail::entry_by_entry("masked(D, M)", a, m, [](auto const& x, auto const& y) { return masked(x, y); });
}
template <DistributedOperator A, DistributedOperator B>
auto multiply_elements(A const& a, B const& b) {
  return detail::entry_by_entry("multiply_elements(D, E)", a, b, [](auto const& x, auto const& y) { return multiply_elements(x, y); });
}

} // namespace sla
