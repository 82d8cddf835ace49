// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Determinants of traced sparse tensors, and of traced factors: d log det(A) = tr(A^-1 dA), of which the entries of A^-1 on the
// transposed pattern of A are all that is needed: selected inversion of the factors of the value, in either mode.
#pragma once

#include <complex>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/grad/implicit/dual_determinant.hpp>
#include <sla/grad/operation/traced_norms.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/solve/determinant/slogdet.hpp>

namespace sla {

namespace detail {
/// weight(b) conj(A^-1)(j, i) for every entry (i, j) of item b: what the determinants hand to the values of A.
template <class A, class Factors, class Weight>
auto determinant_contribution(A const& a, Factors const& factors, Weight const& weight) {
  using N = typename Factors::number;
  vector<N> out(Extents<dyn>(a.values().size()));
  for_inverse_on_pattern<true>(a, factors, [&](index_t b, index_t n, N const& v) { out[n] = weight(b) * user_t<N>(conj_of(to_kernel(v))); });
  return out;
}
/// f(tr(A^-1 dA), b) of every item, where d has the pattern of A.
template <class Factors, class D, class G>
auto numbers_of_trace(Factors const& factors, D const& d, G const& f) {
  using N = typename Factors::number;
  std::vector<N> traces(std::size_t(d.batch_count()));
  for_inverse_on_pattern<true>(d, factors, [&](index_t b, index_t n, N const& v) { traces[std::size_t(b)] += v * N(d.values()[n]); });
  std::vector<decltype(f(N(), index_t(0)))> out;
  for (index_t b = 0; b < d.batch_count(); ++b) out.push_back(f(traces[std::size_t(b)], b));
  return number_per_item(factors.shape(), out);
}

/// Of a traced matrix on ranks, a number of theirs.
template <class Op, Traced A>
  requires(!std::same_as<Op, op::slogdet>) && requires(A const& a) { sum(linear_world<plain_t<A>>::common(a.value(), vector<double>(1))); }
struct refused_determinant<Op, A> {
  static auto of(A const& a) { return sum(linear_world<plain_t<A>>::common(a.value(), vector<double>(1))); }
};

template <class Home, class M, class Factors>
auto trace_number(op::det op, Home& home, M const& m, Factors const& f) {
  using N = typename Factors::number;
  auto pullback = [m, f](auto const& y, auto const& g) {
    return determinant_contribution(m.value(), f, [&](index_t b) { return N(number_of_item(g, b)) * user_t<N>(conj_of(to_kernel(N(number_of_item(y, b))))); });
  };
  auto pushforward = [f](auto const& y, auto const& d) { return numbers_of_trace(f, d, [&](N const& t, index_t b) { return N(number_of_item(y, b)) * t; }); };
  return record(home, number_of(op, f), linear_in(m, std::move(pullback), std::move(pushforward)));
}
/// How the logarithm depends on the values of A.
template <class M, class Factors>
auto logarithm_rule(M const& m, Factors const& f) {
  using N = typename Factors::number;
  return linear_in(
      m, [m, f](auto const&, auto const& g) { return determinant_contribution(m.value(), f, [&](index_t b) { return number_of_item(g, b); }); },
      [f](auto const&, auto const& d) { return numbers_of_trace(f, d, [](N const& t, index_t) { return std::real(t); }); });
}
template <class Home, class M, class Factors>
auto trace_number(op::logdet op, Home& home, M const& m, Factors const& f) {
  return record(home, number_of(op, f), logarithm_rule(m, f));
}
/// The sign of a real determinant is constant. That of a complex one, s, has the derivative i s Im tr(A^-1 dA).
template <class Home, class M, class Factors>
auto trace_number(op::slogdet op, Home& home, M const& m, Factors const& f) {
  using N = typename Factors::number;
  auto value = number_of(op, f);
  if constexpr (is_complex<N>) {
    auto pullback = [m, f](auto const& y, auto const& g) {
      return determinant_contribution(m.value(), f, [&](index_t b) {
        N const s = number_of_item(std::get<0>(y), b), h = number_of_item(std::get<0>(g), b);
        return N(number_of_item(std::get<1>(g), b), std::imag(h * std::conj(s)));
      });
    };
    auto pushforward = [f](auto const& y, auto const& d) {
      return std::tuple(numbers_of_trace(f, d, [&](N const& t, index_t b) { return N(0, t.imag()) * N(number_of_item(std::get<0>(y), b)); }),
                        numbers_of_trace(f, d, [](N const& t, index_t) { return t.real(); }));
    };
    auto [sign, log_abs] = record(home, std::tuple(std::move(value.sign), std::move(value.log_abs)), linear_in(m, std::move(pullback), std::move(pushforward)));
    return sign_and_log<decltype(sign), decltype(log_abs)>{sign, log_abs};
  } else {
    auto log_abs = record(home, std::move(value.log_abs), logarithm_rule(m, f));
    return sign_and_log<decltype(value.sign), decltype(log_abs)>{std::move(value.sign), log_abs};
  }
}
template <class Op, class Home, class M, class Factors>
auto trace_determinant(Op op, Home& home, M const& m, Factors const& f) {
  if constexpr (has_dual_elements<std::remove_cvref_t<decltype(m.value())>>)
    return trace_dual_determinant(op, home, m, f, [&](auto const& g) { return numbers_of_trace(f, slope_part(m.value()), g); });
  else
    return trace_number(op, home, m, f);
}
} // namespace detail

template <class Op, detail::TracedMatrix A, factorization Kind>
  requires detail::is_determinant<Op>
auto perform(Op op, A const& a, detail::direct_method<Kind> const&) {
  auto const& owner = detail::evaluated_sparse(a);
  auto const m = detail::operand_of(owner);
  detail::require_single_entries(m.value());
  if constexpr (detail::require_pivots<Kind>())
    return detail::trace_determinant(op, a.home(), m, detail::factors_for<Kind>(detail::value_part(m.value()), Op::call, detail::gives_zero<Op>, false));
}
template <class Op, detail::TracedMatrix A>
  requires detail::is_determinant<Op>
auto perform(Op op, A const& a) {
  return perform(op, a, detail::direct_method<detail::usual_factors<Op>>{});
}
/// Of factors of a traced A that are kept for solves too: `auto f = cholesky(A); f.solve(b); logdet(f)`.
template <class Op, class X, class Make>
  requires detail::is_determinant<Op>
auto perform(Op op, traced_prepared<X, Make> const& solver) {
  return detail::trace_determinant(op, solver.matrix().home(), detail::operand_of(solver.matrix()), detail::factors_of_solver<Op>(detail::solver_of_values(solver.plain())));
}

namespace detail {
template <class X, class Make>
void is_traced_solver(traced_prepared<X, Make> const&);
template <class A>
  requires TracedMatrix<A> || requires(A const& a) { is_traced_solver(a); }
inline constexpr bool has_no_entries<A> = false;
} // namespace detail

/// Refused: of a traced A.
template <detail::TracedMatrix A, class... Options>
auto perform(op::selected_inverse, A const& a, Options const&...) {
  static_assert(always_false<A>, "sla: selected_inverse(A), traced, has no derivative: of the plain value it is selected_inverse(A.value()), and gradients of det, slogdet and logdet use it");
  return a;
}

/// The cotangents of A where y = det(A), or logdet(A), or log|det(A)|, one number per batch item: g conj(y A^-1)^T, and g A^-H, on A's pattern.
template <class Op, SparseOwner A, class G>
  requires detail::is_determinant<Op>
auto vjp(Op, A const& a, G const& g) {
  auto const f = detail::factors_for<detail::usual_factors<Op>>(a, Op::call, detail::gives_zero<Op>, false);
  using N = typename decltype(f)::number;
  std::vector<N> weights;
  for (index_t b = 0; b < a.batch_count(); ++b) {
    N weight = N(detail::number_of_item(g, b));
    if constexpr (std::same_as<Op, op::det>) weight *= user_t<N>(conj_of(to_kernel(f.determinant(b).value("det(A)", detail::of_item(f.shape(), b)))));
    weights.push_back(weight);
  }
  return std::tuple{detail::collected(a, detail::determinant_contribution(a, f, [&](index_t b) { return weights[std::size_t(b)]; }))};
}

} // namespace sla
