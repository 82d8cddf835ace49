// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs of a traced A that need not be Hermitian, one entry of the tape: dw = u^H (dA - w dB) v of left and right vectors with u^H B v = 1, and one
// more matrix to factor for each vector that a derivative asks for. Those of Hermitian matrices are in traced_eigen.hpp.
#pragma once

#include <algorithm>
#include <complex>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/grad/implicit/traced_eigen.hpp>
#include <sla/grad/tape/dual_elements.hpp>
#include <sla/solve/eigen/eigs.hpp>
#include <sla/solve/eigen/krylov/factored_inverse.hpp>

namespace sla {

namespace detail {
/// M x, or M^H x, for a matrix or `applied_identity`.
template <bool Adjoint, class M, class Z>
vector<Z> image_of(M const& m, vector<Z> const& x) {
  if constexpr (std::same_as<M, applied_identity>)
    return x;
  else if constexpr (Adjoint)
    return sla::adjoint(m) * x;
  else
    return m * x;
}

/// Solutions beside a triple (w, v, u) of A v = w B v and u^H A = w u^H B with u^H B v = 1, whose w is simple, by factors of A - (w + shift) B and steps of refinement.
template <class A, class B>
class beside_triple {
  using Z = dependent_t<std::complex<double>, A>;

public:
  using column_type = vector<Z>;

  beside_triple(A const& a, B const& b, Z w, column_type v, column_type u, double shift)
      : a_(a), b_(b), w_(w), v_(std::move(v)), u_(std::move(u)), bv_(image_of<false>(b, v_)), bu_(image_of<true>(b, u_)), inverse_(invert<Z>(minus_shift<Z>(a, b, w + shift), false)) {
    if (!inverse_) refuse();
  }
  column_type const& v() const { return v_; }
  column_type const& u() const { return u_; }
  /// The z with (A - w B) z = r - B v u^H r and u^H B z = 0; adjoint, with (A - w B)^H z = r - B^H u v^H r and v^H B^H z = 0.
  template <bool Adjoint>
  column_type solve(column_type r) const {
    auto const& [of_left, of_right] = Adjoint ? std::tie(bu_, v_) : std::tie(bv_, u_);
    auto const& [null, beside] = Adjoint ? std::tie(u_, bv_) : std::tie(v_, bu_);
    project(r, of_left, of_right);
    column_type z = 0.0 * r, left = r;
    Z const w = Adjoint ? std::conj(w_) : w_;
    double const size = norm(r);
    for (double before = std::numeric_limits<double>::infinity(), now = size; now > 1e-14 * size && now < 0.5 * before;) {
      column_type step = Adjoint ? inverse_->apply.adjoint() * left : inverse_->apply * left;
      project(step, null, beside);
      z = z + step;
      left = r - image_of<Adjoint>(a_, z) + w * image_of<Adjoint>(b_, z);
      project(left, of_left, of_right);
      before = std::exchange(now, double(norm(left)));
    }
    double const rounding = 1e-13 * (double(norm(image_of<Adjoint>(a_, z))) + std::abs(w) * double(norm(image_of<Adjoint>(b_, z))));
    if (!(norm(left) <= 1e-9 * size + rounding)) refuse();
    return z;
  }

private:
  /// x - y z^H x, where z^H y = 1.
  static void project(column_type& x, column_type const& y, column_type const& z) {
    Z const c = dot(z, x);
    x = x - c * y;
  }
  [[noreturn]] void refuse() const {
    throw value_error(text("eigs: a derivative of a vector of the value ", w_, ", beside which a solve fails: other values are too near to it"));
  }
  A const& a_;
  B const& b_;
  Z w_;
  column_type v_, u_, bv_, bu_;
  std::optional<factored_inverse<Z>> inverse_;
};

/// How (values, V, W) depend on A and B. With (A - w B) z = -(dA - w dB) v + dw B v and u^H B z = 0, dv = z + c v, where c keeps |v| = 1 and (p, v) real for the
/// random vector p of the gauge; and so for u, du = y + d u with conj(d) = -(c + u^H dB v), which keeps u^H B v = 1. The pullback is for dual numbers too.
template <class PartA, class PartB>
struct general_eigen_rule {
  using rule_tag = void;
  using matrix_a = std::remove_cvref_t<decltype(std::declval<PartA const&>().value())>;
  using matrix_b = std::remove_cvref_t<decltype(std::declval<PartB const&>().value())>;
  static constexpr bool has_slopes = has_dual_elements<matrix_a> || has_dual_elements<matrix_b>;
  using Z = std::conditional_t<has_slopes, complex<dual_element>, dependent_t<std::complex<double>, PartA>>;
  using C = kernel_t<Z>;
  PartA a;
  PartB b;
  eigen_report report;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const &w = std::get<0>(y), &gw = std::get<0>(g);
    auto const &V = std::get<1>(y), &W = std::get<2>(y), &gV = std::get<1>(g), &gW = std::get<2>(g);
    auto const &plain_w = value_part(w), &plain_gw = value_part(gw);
    scale_of_values const scale(*this, plain_w);
    require_simple(plain_w, &plain_gw, scale);
    using Number = typename std::remove_cvref_t<decltype(V)>::value_type;
    auto U = W, X = V, L = W;  // u g - (A - w B)^-H of the cotangent of v; what that of u leaves beside u
    auto const has = [](auto const& block, index_t j) {
      for (index_t i = 0; i < block.extent(0); ++i)
        if (!is_zero(to_kernel(block(i, j)))) return true;
      return false;
    };
    bool of_left = false;
    std::vector<C> e(std::size_t(w.size()));  // g_u^H u
    for (index_t n = 0; n < U.size(); ++n) U.data()[n] *= gw[n % w.size()];
    for (index_t j = 0; j < w.size(); ++j) {
      for (index_t i = 0; i < V.extent(0); ++i) X(i, j) = Number(0);
      if (!has(gV, j) && !has(gW, j)) continue;
      auto const beside = beside_of(w, plain_w, V, W, j, scale);
      vector<Z> const gv = wide(gV, j), gu = wide(gW, j);
      C const ej(dot(gu, beside.u())), alpha = C(dot(gv, beside.v())) - conj_of(ej);
      e[std::size_t(j)] = ej;
      vector<Z> const h = gv - real_of(alpha) * beside.v() + C(0, imag_of(alpha) / real_product(scale.p, beside.v())) * scale.p;
      vector<Z> const y_of_v = beside.template solve<true>(h);
      for (index_t i = 0; i < V.extent(0); ++i) U(i, j) -= Number(y_of_v[i]);
      if (!has(gW, j)) continue;
      of_left = true;
      vector<Z> const x = beside.template solve<false>(gu);
      for (index_t i = 0; i < V.extent(0); ++i) X(i, j) = Number(-x[i]);
    }
    auto const hand = [&](auto const& part, auto const& factor) {
      auto left = U, right = W;
      for (index_t n = 0; n < U.size(); ++n) left.data()[n] *= factor(n % w.size()), right.data()[n] *= factor(n % w.size());
      part.v->add(outer_contribution(part.value(), left, V));
      if (of_left) part.v->add(outer_contribution(part.value(), right, X));
    };
    if constexpr (PartA::traced) hand(a, [](index_t) { return Number(1); });
    if constexpr (PartB::traced) {
      hand(b, [&](index_t j) { return Number(-conj_of(to_kernel(w[j]))); });
      for (index_t n = 0; n < L.size(); ++n) L.data()[n] *= Number(-e[std::size_t(n % w.size())]);
      if (of_left) b.v->add(outer_contribution(b.value(), L, V));
    }
  }
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    auto const& w = std::get<0>(y);
    auto const &V = std::get<1>(y), &W = std::get<2>(y);
    scale_of_values const scale(*this, w);
    require_simple(w, static_cast<std::remove_cvref_t<decltype(w)> const*>(nullptr), scale);
    auto dw = w;
    auto dV = V, dW = W;
    using Number = typename decltype(dV)::value_type;
    for (index_t j = 0; j < w.size(); ++j) {
      auto const beside = beside_of(w, w, V, W, j, scale);
      vector<Z> q = 0.0 * beside.v(), ql = q, bv = q;  // (dA - w dB) v, (dA - w dB)^H u, dB v
      C const value = wide_number(w[j]);
      if constexpr (PartA::traced)
        if (auto const* d = a.v->tangent()) q = q + image_of<false>(*d, beside.v()), ql = ql + image_of<true>(*d, beside.u());
      if constexpr (PartB::traced)
        if (auto const* d = b.v->tangent()) bv = image_of<false>(*d, beside.v()), q = q - value * bv, ql = ql - conj_of(value) * image_of<true>(*d, beside.u());
      dw[j] = Number(C(dot(beside.u(), q)));
      vector<Z> const z = -1.0 * beside.template solve<false>(q), zl = -1.0 * beside.template solve<true>(ql);
      C const pz(dot(scale.p, z)), c(-real_product(beside.v(), z), -imag_of(pz) / real_product(scale.p, beside.v()));
      C const d = -conj_of(c + C(dot(beside.u(), bv)));
      for (index_t i = 0; i < V.extent(0); ++i) dV(i, j) = Number(C(z[i]) + c * C(beside.v()[i])), dW(i, j) = Number(C(zl[i]) + d * C(beside.u()[i]));
    }
    out.add(std::tuple(std::move(dw), std::move(dV), std::move(dW)));
  }

private:
  template <class V>
  static auto real_product(V const& x, vector<Z> const& y) {
    return real_of(C(dot(x, y)));
  }
  static C wide_number(auto const& z) { return C(Z(z)); }
  template <class Block>
  static vector<Z> wide(Block const& block, index_t j) {
    vector<Z> out(block.extent(0));
    for (index_t i = 0; i < out.size(); ++i) out[i] = Z(block(i, j));
    return out;
  }
  /// The random vector of the gauge, and about the largest |value|: |A p| / |B p| and those that are there.
  struct scale_of_values {
    vector<dependent_t<std::complex<double>, PartA>> p;
    double size;
    template <class Values>
    scale_of_values(general_eigen_rule const& rule, Values const& w) {
      auto const& a = value_part(rule.a.value());
      auto const& b = value_part(rule.b.value());
      none const no{};
      auto const random = eigen_problem<std::remove_cvref_t<decltype(a)>, std::remove_cvref_t<decltype(b)>, none, none>{a, b, no, no, 0}.random_vector(1);
      p = decltype(p)(random.size());
      for (index_t i = 0; i < p.size(); ++i) p[i] = random[i];
      size = double(norm_inf(image_of<false>(a, p))) / double(norm_inf(image_of<false>(b, p)));
      for (index_t j = 0; j < w.size(); ++j) size = (std::max)(size, double(std::abs(w[j])));
    }
  };
  template <class Values>
  bool are_near(Values const& w, index_t i, index_t j, scale_of_values const& scale) const {
    double const rounding = 1e3 * double(std::numeric_limits<real_t<typename Values::value_type>>::epsilon()) * scale.size;
    return double(std::abs(w[i] - w[j])) <= (std::max)(1e-6 * double(std::abs(w[j])), rounding);
  }
  /// Errors: value_error, where w_j has neighbours.
  template <class Values, class Plain, class Block>
  auto beside_of(Values const& w, Plain const& plain, Block const& V, Block const& W, index_t j, scale_of_values const& scale) const {
    for (index_t i = 0; i < w.size(); ++i)
      if (i != j && are_near(plain, i, j, scale)) refuse(plain, i, j, "vectors", "they have no derivative");
    double const unit = double(std::numeric_limits<real_t<typename Plain::value_type>>::epsilon());
    return beside_triple<matrix_a, matrix_b>(a.value(), b.value(), wide_number(w[j]), wide(V, j), wide(W, j), std::sqrt(unit) * scale.size);
  }
  template <class Values>
  [[noreturn]] static void refuse(Values const& w, index_t i, index_t j, char const* what, char const* law) {
    throw value_error(text("eigs: a derivative of the ", what, " ", i, " and ", j, " (of ", w[i], " and ", w[j], "), whose values are one multiple value: ", law));
  }
  /// Errors: value_error, where values that are as good as equal have different cotangents: a single one has no derivative.
  template <class Values>
  void require_simple(Values const& w, Values const* g, scale_of_values const& scale) const {
    if (!report.converged()) throw eigen_error(report, "eigs");
    double most = 0;
    for (index_t j = 0; g && j < w.size(); ++j) most = (std::max)(most, double(std::abs((*g)[j])));
    for (index_t j = 0; j < w.size(); ++j)
      for (index_t i = 0; i < j; ++i)
        if (are_near(w, i, j, scale) && !(g && std::abs((*g)[i] - (*g)[j]) <= 1e-6 * most)) refuse(w, i, j, "values", "only their sum has a derivative");
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

/// Eigenpairs of a traced A, `eigs(A, k, wanted, ...)`. Gradient: with the cotangent g of a value g u v^H on A's pattern, u the left vector; of a vector -y v^H, where
/// (A - w B)^H y is the cotangent beside the triple; of a left one -u x^H likewise. The gauge is that of the call: |v| = 1, (p, v) real for a random p, u^H B v = 1.
/// Cost: that of left vectors; none for values in reverse mode; of each vector that a derivative asks for, in forward mode of all, factors of A - w B in complex
/// numbers, and some solves. Errors: eigen_error of pairs that did not converge; value_error for a single one of equal values, and for their vectors.
template <detail::OneTracedMatrix A, class W, class... Options>
auto perform(op::eigs, A const& a, int k, W const& wanted, Options const&... options) {
  static_assert(!detail::has_complex_shift<W> || is_complex<typename plain_t<A>::value_type>, "sla: eigs(A, k, near{sigma}), traced, of a real A with a complex sigma: cast A to complex before it is traced");
  auto triples = detail::eigs_with_left([&](auto const&... o) { return eigs(a.value(), k, wanted, o...); }, options...);
  return detail::traced_eigs(a.home(), detail::operand_of(a), detail::no_matrix{}, std::move(triples), options...);
}
/// The same of A v = w B v, where either or both are traced: to B, -conj(w) times what A gets.
template <class A, class B, class W, class... Options>
  requires((Traced<A> || Traced<B>) && detail::OneStoredMatrix<A> && detail::OneStoredMatrix<B>)
auto perform(op::eigs, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  auto& home = home_of(a, b);
  auto triples = detail::eigs_with_left([&](auto const&... o) { return eigs(detail::plain_value(a), detail::plain_value(b), k, wanted, o...); }, options...);
  return detail::traced_eigs(home, detail::eigen_part(home, a), detail::eigen_part(home, b), std::move(triples), options...);
}
/// Refused: on ranks.
template <Traced A, class W, class... Options>
  requires(detail::EigenMatrix<A> && !is_sparse_tensor<plain_t<A>>)
auto perform(op::eigs, A const& a, int k, W const&, Options const&...) {
  static_assert(always_false<A>, "sla: eigs(D, k, ...) of a matrix on ranks has no derivatives: of a symmetric D eigsh(D, k, ...) has, and eigs(A, k, ...) of an A on one rank");
  return eigsh(a, k, smallest{});
}

} // namespace sla
