// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Entries of traced sparse tensors: diagonals, `diagonal_of(A)`, diagonal matrices of traced vectors, `diagonal(v)`, of which each is
// the other's adjoint on the stored entries, `masked(A, M)`, of which multiply_elements(A, B) is made, and triangles;
// and orders of their rows, `rcm(A)`.
#pragma once

#include <sla/grad/operation/traced_sparse.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/structure/ordering.hpp>

namespace sla {

namespace detail {
/// sum += g, at the stored entries of the diagonal.
template <class A, class G>
void add_diagonal(A& sum, G const& g) {
  for_diagonal(sum, [out = kernel_pointer(sum.values().data()), in = kernel_pointer(g.data())](index_t n, index_t at) { out[at] += in[n]; });
}
} // namespace detail

template <TracedSparse A>
auto perform(op::diagonal_of, A const& a) {
  auto rule = linear_in(
      a, [](auto const&, auto const& g) { return adds([&g](auto& sum) { detail::add_diagonal(sum, g); }); },
      [](auto const&, auto const& d) { return diagonal_of(d); });
  return record(a.home(), diagonal_of(a.value()), std::move(rule));
}
template <Format F, TracedElements X>
  requires is_tensor<plain_t<X>>
auto perform(op::diagonal, conversion_to<F>, X const& v) {
  auto rule = linear_in(
      v, [](auto const&, auto const& g) { return diagonal_of(g); }, [](auto const&, auto const& d) { return values(diagonal<F>(d)); });
  return record(v.home(), diagonal<F>(v.value()), std::move(rule));
}

template <TracedSparse A, detail::SparseOrTraced M>
auto perform(op::masked, A const& a, M const& m) {
  auto const& other = detail::evaluated_sparse(m);
  auto const mask = detail::sparse_part(a.home(), other);
  auto rule = linear_in(
      a, [](auto const&, auto const& g) { return detail::sample_of(1, g); },
      [mask](auto const&, auto const& d) { return values(masked(d, mask.value())); });
  return record(a.home(), masked(a.value(), mask.value()), std::move(rule));
}
/// The places of a traced mask are constant.
template <SparseOperand A, detail::TracedMatrix M>
auto perform(op::masked, A const& a, M const& m) {
  auto const& mask = detail::evaluated_sparse(m);
  return masked(a, mask.value());
}

/// The entries of a near a diagonal, of which tril, triu and trace are made.
template <TracedSparse A>
auto perform(op::band, A const& a, index_t first, index_t last) {
  return masked(a, perform(op::band{}, a.value(), first, last));
}

/// Refused: what the visitor computes of plain values would have no derivative.
template <detail::TracedMatrix A, class Visit>
void for_each_entry(A const&, Visit const&) {
  static_assert(always_false<A>, "sla: for_each_entry(A, f) of a traced A: what f computes of the entries would have no derivative: compute with values(A), a traced vector; places and plain "
                                 "values are for_each_entry(A.value(), f)");
}

/// An order of rows and columns is of the pattern, which is constant: permuted(A, rcm(A)).
template <TracedSparse A>
auto rcm(A const& a) {
  return rcm(a.value());
}

/// The cotangent of A where d = diagonal_of(A), and of v where D = diagonal(v).
template <SparseOwner A, Tensorial G>
auto vjp(op::diagonal_of, A const& a, G const& g) {
  auto const& part = detail::argument(g);
  return std::tuple{detail::collected(a, adds([&](auto& sum) { detail::add_diagonal(sum, part); }))};
}
template <Tensorial V, SparseOwner G>
auto vjp(op::diagonal, V const& v, G const& g) {
  return std::tuple{detail::collected(detail::argument(v), diagonal_of(g))};
}

} // namespace sla
