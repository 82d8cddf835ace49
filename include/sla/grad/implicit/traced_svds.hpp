// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Singular triplets of a traced A, one entry of the tape: those of A are the eigenpairs of (0, A; A^H, 0), s with the vector (u, v) / sqrt(2), so that
// their derivatives are those of traced_eigen.hpp.
#pragma once

#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/solve/eigen/svds.hpp>

namespace sla {

namespace detail {
/// (0, A; A^H, 0).
template <class T, class S, class F>
auto hermitian_of(sparse_tensor<T, S, F> const& a) {
  std::vector<index_t> row, col;
  std::vector<T> value;
  for (index_t i = 0; i < a.rows(); ++i)
    a.pattern().view().for_row(i, [&](index_t s, index_t j) {
      row.push_back(i), col.push_back(a.rows() + j), value.push_back(a.values()[s]);
      row.push_back(a.rows() + j), col.push_back(i), value.push_back(conj_of_value(a.values()[s]));
    });
  return from_triplets<T>(a.rows() + a.cols(), a.rows() + a.cols(), row, col, value);
}
/// The columns of u and v, one below the other, times a number; and the part of such a block from row `first` on, times a number, like u.
template <class Block>
Block stacked(Block const& u, Block const& v, double factor) {
  using T = typename Block::value_type;
  auto out = block_like<T>(column_like<T>(random<T>(u.extent(0) + v.extent(0), 1)), u.extent(1));
  for (index_t n = 0; n < out.size(); ++n) out.data()[n] = T(real_t<T>(factor)) * (n < u.size() ? u.data()[n] : v.data()[n - u.size()]);
  return out;
}
template <class Block>
Block unstacked(Block const& x, index_t first, Block const& like, double factor) {
  using T = typename Block::value_type;
  Block out = like;
  for (index_t n = 0; n < out.size(); ++n) out.data()[n] = T(real_t<T>(factor)) * x.data()[first * x.extent(1) + n];
  return out;
}

/// How (U, s, V) depends on A.
template <class Part>
struct singular_rule {
  using rule_tag = void;
  Part a;
  eigen_report report;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const &U = std::get<0>(y), &V = std::get<2>(y), &gU = std::get<0>(g), &gV = std::get<2>(g);
    auto const &s = std::get<1>(y), &gs = std::get<1>(g);
    auto const& A = a.value();
    using H = decltype(hermitian_of(A));
    H const value = hermitian_of(A);
    tape t;
    auto const h = traced<H>(t, t.input(value));
    rule_of(operand_of(h)).pullback(std::tuple(s, stacked(U, V, std::sqrt(0.5))), std::tuple(gs, stacked(gU, gV, std::sqrt(2.0))));
    if (!h.variable().has_cotangent()) return;
    H const of_h = h.variable().take_cotangent();  // Hermitian
    auto of_a = A;
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t at, index_t j) { of_a.values()[at] = typename H::value_type(2) * of_h(i, A.rows() + j); });
    a.v->add(contributed(std::move(of_a)));
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    auto const &U = std::get<0>(y), &V = std::get<2>(y);
    auto const& s = std::get<1>(y);
    auto const& A = a.value();
    auto const* const tangent = a.v->tangent();
    if (!tangent) return;
    using H = decltype(hermitian_of(A));
    auto const value = hermitian_of(A);
    auto const of_tangent = hermitian_of(*tangent);
    dual_variable<H> h(&value, &of_tangent);
    auto const X = stacked(U, V, std::sqrt(0.5));
    struct taken {
      std::optional<std::tuple<std::remove_cvref_t<decltype(s)>, std::remove_cvref_t<decltype(X)>>> found;
      void add(typename decltype(found)::value_type d) { found = std::move(d); }
    } to;
    rule_of(traced_operand<dual_variable<H>>{&h}).pushforward(std::tuple(s, X), to);
    auto& [ds, dX] = *to.found;
    out.add(std::tuple(unstacked(dX, 0, U, std::sqrt(2.0)), std::move(ds), unstacked(dX, U.extent(0), V, std::sqrt(2.0))));
  }

private:
  template <class Operand>
  eigen_rule<Operand, no_matrix> rule_of(Operand h) const {
    return {std::move(h), {}, report, {}};
  }
};
} // namespace detail

/// Singular triplets of a traced A, `svds(A, k, wanted, ...)`. Gradient: with the cotangent g of a value g u v^H on A's pattern; of vectors by the Hermitian matrix
/// (0, A; A^H, 0), beside the triplets. Values within 1e-6 of each other are one cluster, of which only what does not change when its vectors are mixed
/// has a derivative. Cost: one solve by minres per triplet whose vectors a derivative asks for, none for values.
/// Errors: those of traced eigenpairs (traced_eigen.hpp).
template <TracedSparse A, class W, class... Options>
auto perform(op::svds, A const& a, int k, W const& wanted, Options const&... options) {
  auto triplets = svds(a.value(), k, wanted, options...);
  detail::singular_rule<decltype(detail::operand_of(a))> rule{detail::operand_of(a), triplets.report};
  auto [U, s, V] = record(a.home(), std::tuple(std::move(triplets.left), std::move(triplets.values), std::move(triplets.right)), std::move(rule));
  return singular_triplets<decltype(U), decltype(s), decltype(V)>{U, s, V, std::move(triplets.report)};
}

} // namespace sla
