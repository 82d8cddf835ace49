// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Least squares of dual numbers, by the engine of their values: N dx = A^H (db - dA x) + dA^H r - 2 damping d(damping) x for N = A^H A + damping^2, and of
// N w = g also N dw = dg - dN w. It is for as many rows as columns, or for a damping.
#pragma once

#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/grad/tape/implicit.hpp>
#include <sla/solve/least_squares/least_squares_calls.hpp>

namespace sla::detail {

/// The solution x of a call with the matrix A, the right-hand side b and the damping d, of dual numbers or not, to second order. Solve: N^-1 g of plain g.
template <class Operand, class B, class D, class X, class Solve>
struct dual_least_squares {
  Operand m;
  B b;
  D d;
  dependent_t<least_squares_report, X> report;
  Solve by_normal;

  /// A^H y, and what the slopes of A add to it where y has none.
  template <class Y>
  auto times_adjoint(Y const& y) const {
    return eval(adjoint(m.value()) * y);
  }
  /// dN w, with A w in z.
  template <class Z>
  X moved_normal(X const& w, Z const& z) const {
    X out = w;
    out = 0.0 * out;
    if constexpr (has_dual_elements<std::remove_cvref_t<decltype(m.value())>>) {
      auto const& dA = slope_part(m.value());
      out = out + adjoint(dA) * z + adjoint(value_part(m.value())) * eval(dA * w);
    }
    if constexpr (has_dual_elements<D>) out = out + (2 * d.value * d.slope[0]) * w;
    return out;
  }
  /// x with its slope, which is 0 where the call has failed.
  auto at(X const& x) const {
    X slope = x;
    slope = 0.0 * slope;
    if (report.converged()) {
      auto const r = eval(b.value() - m.value() * x);  // A and b have slopes
      auto const g = times_adjoint(r);
      if constexpr (has_dual_elements<std::remove_cvref_t<decltype(g)>>) slope = slope_part(g);
      if constexpr (has_dual_elements<D>) slope = slope - (2 * d.value * d.slope[0]) * x;
      slope = by_normal(slope);
    }
    return with_slope(x, slope);
  }
  template <class Y>
  dual_least_squares const& operator()(Y const&) const {
    if (!report.converged()) throw solve_error(report);
    return *this;
  }
  /// {w, A w} with N w = g.
  template <class G>
  auto solve_adjoint(G const& g) const {
    X const w = by_normal(value_part(g));
    auto const z = eval(value_part(m.value()) * w);
    X const rest = slope_part(g) - moved_normal(w, z);
    auto both = with_slope(w, X(by_normal(rest)));
    auto image = eval(m.value() * both);
    return std::pair(std::move(both), std::move(image));
  }
};

/// {x, report} of a call of which A, b or the damping is traced, of dual numbers.
template <class A, class B, class... Options>
auto trace_dual_least_squares(A const& a, B const& b, Options const&... options) {
  auto const undamped = damping(0.0);
  auto const& own_damping = pick<wants_damping>(options..., undamped).value;
  auto& home = home_of(a, b, own_damping);
  auto const m = parameter_of(home, a);
  auto const right = parameter_of(home, evaluated_parameter(b));
  auto const& A0 = value_part(m.value());
  auto const plain_option = []<class O>(O const& o) {
    if constexpr (is_damping<O>)
      return damping(value_part(plain_value(o.value)));
    else
      return o;
  };
  double const d0 = damping_of_options(plain_option(options)...);
  auto const d = [&] {
    if constexpr (has_dual_elements<plain_t<std::remove_cvref_t<decltype(own_damping)>>>)
      return plain_value(own_damping);
    else
      return d0;
  }();
  using Matrix = std::remove_cvref_t<decltype(A0)>;
  auto const matrix = detail::shared_of<Matrix const>(A0);
  auto const sides = sides_of(*matrix);
  if (d0 == 0 && sides.first < sides.second)
    throw value_error("hvp: least_squares(A, b) with fewer rows than columns and no damping has no second derivatives here: give a damping, or solve with A^T as solve(A * transpose(A), b)");
  auto const engine = detail::shared_of<decltype(least_squares_engine_for(*matrix, d0, options...))>(least_squares_engine_for(*matrix, d0, options...));
  auto const place = place_of_options(options...);
  auto const vector = eval(linear_world<Matrix>::right_hand_side(*matrix, value_part(right.value())));
  auto found = engine->solve(*matrix, vector, place, has_history<Options...>);
  using X = decltype(found.x);
  auto const by_normal = [matrix, engine, place, zero = eval(0.0 * vector)](X const& g) { return converged_x(engine->solve_normal(*matrix, zero, g, place)); };
  using Linearized = dual_least_squares<std::remove_const_t<decltype(m)>, std::remove_const_t<decltype(right)>, std::remove_const_t<decltype(d)>, X, std::remove_const_t<decltype(by_normal)>>;
  auto const linearized = detail::shared_of<Linearized const>(Linearized{m, right, d, found.report, by_normal});
  auto const of_b = linear_in(right, [](auto const&, auto const& w) -> auto const& { return w.second; }, unchanged);
  auto const of_a = linear_in(
      m,
      [linearized](auto const& x, auto const& w) {
        return adds([linearized, &x, &w](auto& sum) {
          auto const& at = linearized->m.value();
          auto const r = eval(linearized->b.value() - at * x);
          outer_contribution(at, w.second, x, -1).add_to(sum);
          outer_contribution(at, r, w.first, 1).add_to(sum);
        });
      },
      unchanged);
  auto const of_damping = linear_in(own_damping, [d](auto const& x, auto const& w) { return -2.0 * d * eval(dot(w.first, x)); }, unchanged);
  auto x = record_implicit(home, linearized->at(found.x), [linearized](auto const& at) -> auto const& { return (*linearized)(at); }, of_b, of_a, of_damping);
  return least_squares_solution<decltype(x)>{x, std::move(found.report)};
}

template <class O>
inline constexpr bool is_dual_damping = false;
template <class V, class Home>
inline constexpr bool is_dual_damping<damping_option<traced<V, Home>>> = has_dual_elements<V>;
template <class A, class B, class... Options>
concept DualLeastSquares = (has_dual_elements<plain_t<A>> || has_dual_elements<plain_t<B>> || (is_dual_damping<Options> || ...)) && is_sparse_tensor<plain_t<A>>;

} // namespace sla::detail

namespace sla {
template <detail::LeastSquaring Op, class A, class B, class... Options>
  requires detail::DualLeastSquares<A, B, Options...>
auto perform(Op, A const& a, B const& b, Options const&... options) {
  return detail::answer_of<Op>(detail::trace_dual_least_squares(a, b, options...));
}
} // namespace sla
