// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenvalues of a traced A that need not be Hermitian, one entry of the tape: dw = w^H (dA - value dB) v of left and right vectors with w^H B v = 1. Derivatives
// of its vectors are not here; those of Hermitian matrices are in traced_eigen.hpp.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/solve/eigen/eigs.hpp>

namespace sla {

namespace detail {
/// How (values, V, W) depend on A and B.
template <class PartA, class PartB>
struct general_eigen_rule {
  using rule_tag = void;
  PartA a;
  PartB b;
  eigen_report report;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const& w = std::get<0>(y);
    auto const &V = std::get<1>(y), &W = std::get<2>(y);
    auto const& gw = std::get<0>(g);
    require_simple(w, &gw);
    if (norm_inf(std::get<1>(g)) > 0 || norm_inf(std::get<2>(g)) > 0) refuse_vectors();
    auto U = W;  // the column of W times the cotangent of its value
    for (index_t n = 0; n < U.size(); ++n) U.data()[n] *= gw[n % w.size()];
    if constexpr (PartA::traced) a.v->add(outer_contribution(a.value(), U, V));
    if constexpr (PartB::traced) {
      for (index_t n = 0; n < U.size(); ++n) U.data()[n] *= -std::conj(w[n % w.size()]);
      b.v->add(outer_contribution(b.value(), U, V));
    }
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    auto const& w = std::get<0>(y);
    auto const &V = std::get<1>(y), &W = std::get<2>(y);
    require_simple(w, static_cast<std::remove_cvref_t<decltype(w)> const*>(nullptr));
    auto dw = w;
    for (index_t j = 0; j < w.size(); ++j) {
      dw[j] = 0;
      auto const along = [&](auto const& part, auto factor) {
        if constexpr (std::remove_cvref_t<decltype(part)>::traced)
          if (auto const tangent = part.v->tangent()) dw[j] += factor * dot(column(W, j), *tangent * column(V, j));
      };
      along(a, std::complex<double>(1)), along(b, -std::complex<double>(w[j]));
    }
    auto none_of_vectors = V;
    for (index_t n = 0; n < V.size(); ++n) none_of_vectors.data()[n] = std::numeric_limits<double>::quiet_NaN();  // nobody takes them for zero
    out.add(std::tuple(std::move(dw), none_of_vectors, none_of_vectors));
  }

private:
  [[noreturn]] static void refuse_vectors() {
    throw value_error("eigs: a derivative of vectors of a matrix that is not Hermitian, which is not there; of values it is, and of vectors of Hermitian matrices, by eigsh");
  }
  /// Errors: value_error, where values that are as good as equal have different cotangents: a single one has no derivative.
  template <class Values>
  void require_simple(Values const& w, Values const* g) const {
    if (!report.converged()) throw eigen_error(report, "eigs");
    double most = 0;
    for (index_t j = 0; g && j < w.size(); ++j) most = (std::max)(most, double(std::abs((*g)[j])));
    for (index_t j = 0; j < w.size(); ++j)
      for (index_t i = 0; i < j; ++i)
        if (std::abs(w[i] - w[j]) <= 1e-6 * std::abs(w[j]) && !(g && std::abs((*g)[i] - (*g)[j]) <= 1e-6 * most))
          throw value_error(text("eigs: a derivative of values ", i, " and ", j, " (", w[i], " and ", w[j], "), which are one multiple value: only their sum has a derivative"));
  }
};

template <class Home, class PartA, class PartB, class Triples, class... Options>
auto traced_eigs(Home& home, PartA a, PartB b, Triples triples, Options const&...) {
  general_eigen_rule<PartA, PartB> rule{std::move(a), std::move(b), triples.report};
  auto [w, V, W] = record(home, std::tuple(std::move(triples.values), std::move(triples.vectors), std::move(triples.left)), std::move(rule));
  if constexpr ((std::same_as<Options, left_vectors_t> || ...))
    return eigentriples<decltype(w), decltype(V)>{w, V, W, std::move(triples.report)};
  else
    return eigenpairs<decltype(w), decltype(V)>{w, V, std::move(triples.report)};
}
/// eigs with left vectors, which its options may ask for or not.
template <class... Options>
auto eigs_with_left(auto const& call, Options const&... options) {
  if constexpr ((std::same_as<Options, left_vectors_t> || ...))
    return call(options...);
  else
    return call(options..., left_vectors);
}
} // namespace detail

/// Eigenpairs of a traced A, `eigs(A, k, wanted, ...)`. Gradient: of values, with the cotangent g of one g w v^H on A's pattern, w the left vector; of vectors none: asking
/// for it is an error. Cost: that of left vectors, no solves. Errors: eigen_error of pairs that did not converge; value_error for a single one of equal values, and for vectors.
template <TracedSparse A, class W, class... Options>
auto perform(op::eigs, A const& a, int k, W const& wanted, Options const&... options) {
  static_assert(!detail::has_complex_shift<W> || is_complex<typename plain_t<A>::value_type>, "sla: eigs(A, k, near{sigma}), traced, of a real A with a complex sigma: cast A to complex before it is traced");
  auto triples = detail::eigs_with_left([&](auto const&... o) { return eigs(a.value(), k, wanted, o...); }, options...);
  return detail::traced_eigs(a.home(), detail::operand_of(a), detail::no_matrix{}, std::move(triples), options...);
}
/// The same of A v = w B v, where either or both are traced: to B, -conj(w) times what A gets.
template <class A, class B, class W, class... Options>
  requires((Traced<A> || Traced<B>) && is_sparse_tensor<plain_t<A>> && is_sparse_tensor<plain_t<B>>)
auto perform(op::eigs, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  auto& home = home_of(a, b);
  auto triples = detail::eigs_with_left([&](auto const&... o) { return eigs(detail::plain_value(a), detail::plain_value(b), k, wanted, o...); }, options...);
  return detail::traced_eigs(home, detail::eigen_part(home, a), detail::eigen_part(home, b), std::move(triples), options...);
}

} // namespace sla
