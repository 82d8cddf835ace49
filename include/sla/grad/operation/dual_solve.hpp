// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with matrices and right-hand sides of dual numbers, by what is set up for the values: (A + e dA)(x + e dx) = b + e db is A x = b and
// A dx = db - dA x. No factorisation, and no iteration, is differentiated.
#pragma once

#include <utility>

#include <sla/expr/sparse/algebra.hpp>
#include <sla/grad/tape/dual_elements.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/linear/linear.hpp>

namespace sla {

namespace detail {
/// The options of a call for values, where to begin among them; and those that its second solve takes over: where to run.
template <class O>
O const& option_of_values(O const& option) {
  return option;
}
template <class V>
  requires has_dual_elements<V>
auto option_of_values(guess<V> const& option) {
  return initial_guess(value_part(*option.x));
}
template <class O>
auto derivative_option(O const& option) {
  if constexpr (is_on_space<O>)
    return std::tuple{option};
  else
    return std::tuple<>{};
}

/// The slope of a constant matrix.
struct no_slope {};

/// What solves with A + e dA, from what solves with A.
template <class Solver, class DA = no_slope>
class dual_solver : public throwing_solves<dual_solver<Solver, DA>> {
public:
  explicit dual_solver(Solver solver, DA slope = {}) : solver_(std::move(solver)), slope_(std::move(slope)) {}
  Solver const& values() const { return solver_; }

  template <class B, class... Options>
  auto try_solve(B const& b, Options const&... options) const {
    return both(
        b, [&](auto const& r, auto const&... o) { return solver_.try_solve(r, o...); }, [](auto const& dA, auto const& x) { return eval(dA * x); }, options...);
  }
  template <class B, class... Options>
  auto try_solve_transpose(B const& b, Options const&... options) const {
    return both(
        b, [&](auto const& r, auto const&... o) { return solver_.try_solve_transpose(r, o...); }, [](auto const& dA, auto const& x) { return eval(transpose(dA) * x); }, options...);
  }
  template <class B, class... Options>
  auto try_solve_adjoint(B const& b, Options const&... options) const {
    return both(
        b, [&](auto const& r, auto const&... o) { return solver_.try_solve_adjoint(r, o...); }, [](auto const& dA, auto const& x) { return eval(adjoint(dA) * x); }, options...);
  }

private:
  template <class B, class Solve, class Times, class... Options>
  auto both(B const& right, Solve const& solve, Times const& times, Options const&... options) const {
    auto const& b = eval(right);
    auto first = solve(value_part(b), option_of_values(options)...);
    auto dx = first.x;
    if constexpr (has_dual_elements<std::remove_cvref_t<decltype(b)>>)
      dx = slope_part(b);
    else
      dx = 0.0 * dx;
    if constexpr (!std::same_as<DA, no_slope>) dx = dx - times(slope_, first.x);
    if (first.report.converged()) dx = std::apply([&](auto const&... o) { return solved(solve(dx, o...)); }, std::tuple_cat(derivative_option(options)...));
    auto x = with_slope(first.x, dx);
    return solution<decltype(x)>{std::move(x), std::move(first.report)};
  }
  Solver solver_;
  DA slope_;
};

/// What solves with the values.
template <class Solver>
Solver const& solver_of_values(Solver const& s) {
  return s;
}
template <class Solver, class DA>
Solver const& solver_of_values(dual_solver<Solver, DA> const& s) {
  return s.values();
}
/// make(A) of the values of A, for A + e dA.
template <class A, class Make>
auto dual_solver_of(A const& a, Make const& make) {
  return dual_solver(make(value_part(a)), slope_part(a));
}
/// The factors of values in the place of those of dual numbers.
template <class Direct>
struct factors_of_values {
  using type = Direct;
};
template <template <class> class Direct, class V>
  requires has_dual_elements<V>
struct factors_of_values<Direct<V>> {
  using type = Direct<std::remove_cvref_t<decltype(value_part(std::declval<V const&>()))>>;
};

template <class A>
concept DualMatrix = is_sparse_tensor<A> && has_dual_elements<A>;
template <class B>
concept DualVector = (is_tensor<B> || Expression<B>) && is_dual<real_t<typename B::value_type>>;
template <class A, class B>
concept DualSystem = (DualMatrix<A> && (is_tensor<B> || Expression<B>)) || ((is_sparse_tensor<A> || OwnOperator<A>) && DualVector<B>);
} // namespace detail

template <detail::DualMatrix A, detail::SolveOption... Options>
auto perform(op::prepare, A const& a, Options const&... options) {
  return detail::dual_solver_of(a, [&](auto&& values) { return prepare(std::move(values), options...); });
}
template <class A, class B, detail::SolveOption... Options>
  requires detail::DualSystem<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  if constexpr (detail::DualMatrix<A>)
    return prepare(a, options...).try_solve(b, options...);
  else
    return detail::dual_solver(prepare(a, options...)).try_solve(b, options...);
}
template <class A, class B, detail::SolveOption... Options>
  requires detail::DualSystem<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}
template <class A, class Method, class P, detail::DualVector B, class... Options>
auto perform(op::try_solve, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::dual_solver(s).try_solve(b, options...);
}
template <class A, class Method, class P, detail::DualVector B, class... Options>
auto perform(op::try_solve_transpose, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::dual_solver(s).try_solve_transpose(b, options...);
}
template <class A, class Method, class P, detail::DualVector B, class... Options>
auto perform(op::try_solve_adjoint, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::dual_solver(s).try_solve_adjoint(b, options...);
}

} // namespace sla
