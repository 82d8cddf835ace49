// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs of matrices of dual numbers that need not be Hermitian: slopes by forward mode, and the rule of traced_eigs.hpp on dual numbers, whose
// solves beside a triple have one more solve for their slope.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/implicit/dual_eigen.hpp>
#include <sla/grad/implicit/traced_eigs.hpp>

namespace sla {

namespace detail {
/// beside_triple of dual numbers: of (A - w B) z = r - B v u^H r and u^H B z = 0 the slopes, with the solves for values.
template <class A, class B>
  requires(has_dual_elements<A> || has_dual_elements<B>)
class beside_triple<A, B> {
  using Z = dependent_t<complex<dual_element>, A>;

public:
  using column_type = vector<Z>;

  beside_triple(A const& a, B const& b, Z w, column_type v, column_type u, double shift)
      : a_(a), b_(b), w_(w), v_(std::move(v)), u_(std::move(u)), bv_(image_of<false>(b, v_)), bu_(image_of<true>(b, u_)), values_(a_.value, b_.value, value_part(w), value_part(v_), value_part(u_), shift) {}
  beside_triple(beside_triple const&) = delete;
  column_type const& v() const { return v_; }
  column_type const& u() const { return u_; }
  template <bool Adjoint>
  column_type solve(column_type const& r) const {
    auto const& [of_left, of_right] = Adjoint ? std::tie(bu_, v_) : std::tie(bv_, u_);
    auto const& [null, beside] = Adjoint ? std::tie(u_, bv_) : std::tie(v_, bu_);
    auto const r0 = value_part(r), z0 = values_.template solve<Adjoint>(r0);
    auto const as_here = [](auto const& w) { return Adjoint ? std::conj(w) : w; };
    auto r1 = eval(slope_part(r) - dot(value_part(of_right), r0) * slope_part(of_left) + as_here(slope_part(w_)) * image_of<Adjoint>(b_.value, z0));
    if constexpr (has_dual_elements<A>) r1 = r1 - image_of<Adjoint>(*a_.slope, z0);
    if constexpr (has_dual_elements<B>) r1 = r1 + as_here(value_part(w_)) * image_of<Adjoint>(*b_.slope, z0);
    return with_slope(z0, eval(values_.template solve<Adjoint>(r1) - dot(slope_part(beside), z0) * value_part(null)));
  }

private:
  parts_of_matrix<A> a_;
  parts_of_matrix<B> b_;
  Z w_;
  column_type v_, u_, bv_, bu_;
  beside_triple<values_t<A>, values_t<B>> values_;
};

template <class Home, class PartA, class PartB, class Triples, class... Options>
auto dual_eigs(Home& home, PartA a, PartB b, Triples const& triples, Options const&... options) {
  std::tuple const plain(triples.values, triples.vectors, triples.left);
  taken_tangent<std::remove_const_t<decltype(plain)>> slopes;
  with_tangents(a, b, [&]<class A, class B>(A const& da, B const& db) { general_eigen_rule<A, B>{da, db, triples.report}.pushforward(plain, slopes); });
  auto [w, V, W] = with_slope(plain, *slopes.found);
  return traced_eigs(home, std::move(a), std::move(b), eigentriples<decltype(w), decltype(V)>{std::move(w), std::move(V), std::move(W), triples.report}, options...);
}
} // namespace detail

template <detail::DualTraced A, class W, class... Options>
auto perform(op::eigs, A const& a, int k, W const& wanted, Options const&... options) {
  auto const triples = detail::eigs_with_left([&](auto const&... o) { return eigs(detail::value_part(a.value()), k, wanted, o...); }, options...);
  return detail::dual_eigs(a.home(), detail::operand_of(a), detail::no_matrix{}, triples, options...);
}
template <class A, class B, class W, class... Options>
  requires((detail::DualTraced<A> || detail::DualTraced<B>) && detail::OneStoredMatrix<A> && detail::OneStoredMatrix<B>)
auto perform(op::eigs, A const& a, B const& b, int k, W const& wanted, Options const&... options) {
  auto& home = home_of(a, b);
  auto const triples = detail::eigs_with_left([&](auto const&... o) { return eigs(detail::value_part(detail::plain_value(a)), detail::value_part(detail::plain_value(b)), k, wanted, o...); }, options...);
  return detail::dual_eigs(home, detail::eigen_part(home, a), detail::eigen_part(home, b), triples, options...);
}

} // namespace sla
