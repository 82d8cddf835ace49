// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of solves with distributed matrices, by one solve with the adjoint. The rule is that of grad/operation/traced_solve.hpp;
// here is what it asks of a matrix on ranks.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/matrix/product_gradient.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/dist/solve/own_operator.hpp>
#include <sla/grad/operation/traced_solve.hpp>

namespace sla {

namespace detail {
/// A traced row-sharded (or replicated) matrix in the place where solves expect one.
template <class Variable, bool Transposed, bool Conj>
struct traced_rows {
  static constexpr bool transposed = Transposed, conj = Conj;
  Variable* v;
  auto residual_rule() const {
    using Operand = traced_operand<Variable>;
    return linear_in(
        Operand{v}, [v = v](auto const& x, auto const& w) { return contribution_to_rows<Transposed, Conj>(v->value(), x, w, -1); },
        [](auto const& x, auto const& d) { return eval(-(view_of<Transposed, Conj>(d) * x)); });
  }
};

/// What is not solved by entries (dist/solve/solve_entries.hpp).
template <class A, class B>
concept SolvedByRows = TracedRowPair<A, B> && !cuts_rows<std::remove_cvref_t<decltype(matrix_of(plain_value(viewed(std::declval<A const&>()))))>>;
} // namespace detail
template <class A, class B, class... Options>
  requires detail::SolvedByRows<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  using Orientation = detail::view_orientation<A>;
  if constexpr (Orientation::conj && !Orientation::transposed) { // conj(D) x = b is D conj(x) = conj(b)
    auto s = try_solve(detail::matrix_of(detail::viewed(a)), eval(conj(b)), options...);
    return solution<decltype(s.x)>{conj(s.x), std::move(s.report)};
  } else {
    auto const& matrix = detail::matrix_of(detail::plain_value(detail::viewed(a)));
    auto prepared = prepare(matrix, options...);
    auto const shared = std::make_shared<decltype(prepared) const>(std::move(prepared));
    auto& home = home_of(a, b);
    if constexpr (detail::TracedOperator<A>) {
      auto& variable = detail::viewed(a).variable();
      using Matrix_ = detail::traced_rows<std::remove_reference_t<decltype(variable)>, Orientation::transposed, Orientation::conj>;
      return detail::trace_solve(home, shared, Matrix_{&variable}, b, options...);
    } else {
      return detail::trace_solve(home, shared, detail::constant_matrix<Orientation::transposed, Orientation::conj>{}, b, options...);
    }
  }
}
template <class A, class B, class... Options>
  requires detail::SolvedByRows<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}
template <class A, class Method, class P, detail::TracedDistributedExpr B, class... Options>
auto perform(op::try_solve, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<false, false>(s, b, options...);
}
template <class A, class Method, class P, detail::TracedDistributedExpr B, class... Options>
auto perform(op::try_solve_transpose, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<true, false>(s, b, options...);
}
template <class A, class Method, class P, detail::TracedDistributedExpr B, class... Options>
auto perform(op::try_solve_adjoint, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<true, true>(s, b, options...);
}

/// Of a linear_operator, whose function sees this rank's part.
template <class T, detail::TracedDistributedExpr B, class... Options>
auto perform(op::try_solve, linear_operator<T> const& a, B const& b, Options const&... options) {
  return prepare(detail::in_layout_of(a, b.value()), options...).try_solve(b, options...);
}
template <class T, detail::TracedDistributedExpr B, class... Options>
auto perform(op::solve, linear_operator<T> const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}

} // namespace sla
