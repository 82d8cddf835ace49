// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse algebra across ranks, with sparse results: D + E, D - E, D * E, s * D, of matrices whose rows are on ranks; views are stored first:
// transpose(P) * (D * P). That of one rank is in expr/sparse/algebra.hpp; scaling by rows and columns in dist/matrix/matrix_functions.hpp.
#pragma once

#include <utility>

#include <sla/dist/matrix/multiply_on_ranks.hpp>

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

/// D + E and D - E on the union of their patterns. Law: both are sharded by rows on one axis, with the same owners. Placement: theirs.
/// Collective: columns are numbered again. Cost: time and memory of both; the numbers of ghosts travel. Gradient: dist/matrix/algebra_gradient.hpp.
/// Errors, on every rank: shape_error, if their extents or owners differ.
template <DistributedOperator A, DistributedOperator B>
auto operator+(A const& a, B const& b) {
  static_assert(detail::rows_alike<A, B>, "sla: D + E of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                          "partitioner); of others add what they make, D * x + E * x");
  if constexpr (detail::rows_alike<A, B>)
    return detail::sum_on_ranks(1, detail::stored_on_ranks(a), 1, detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
template <DistributedOperator A, DistributedOperator B>
auto operator-(A const& a, B const& b) {
  static_assert(detail::rows_alike<A, B>, "sla: D - E of distributed matrices: both are sharded by rows, over one axis of one mesh: distribute<SparseShard<0>>(A, mesh, "
                                          "partitioner); of others subtract what they make, D * x - E * x");
  if constexpr (detail::rows_alike<A, B>)
    return detail::sum_on_ranks(1, detail::stored_on_ranks(a), -1, detail::stored_on_ranks(b));
  else
    return detail::matrix_of(a);
}
/// D * E, sparse. Law: both are sharded by rows on one axis; E's rows are owned as D's columns are; no batches. Placement: rows as D's, columns
/// as E's. Collective. Cost: the rows of E that D's ghosts name travel once; else that of the product of a rank's rows. `multiply_plan plan(D, E)`
/// multiplies new values without looking for the pattern again. Gradient: as of the sum.
/// Errors, on every rank: shape_error, if the sides that meet differ in extents or owners.
template <DistributedOperator A, DistributedOperator B>
auto operator*(A const& a, B const& b) {
  constexpr bool plain = !local_of_t<detail::matrix_of_t<A>>::shape_type::is_batched && !local_of_t<detail::matrix_of_t<B>>::shape_type::is_batched;
  static_assert(detail::rows_alike<A, B> && plain, "sla: D * E of distributed matrices: both are sharded by rows, over one axis of one mesh, and have no batch: "
                                                   "distribute<SparseShard<0>>(A, mesh, partitioner); of others apply one after the other, D * (E * x)");
  if constexpr (detail::rows_alike<A, B> && plain)
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

} // namespace sla
