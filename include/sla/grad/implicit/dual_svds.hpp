// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Singular triplets of dual numbers, as eigenpairs of (0, A; A^H, 0) of dual numbers: dual_eigen.hpp.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/implicit/dual_eigen.hpp>
#include <sla/grad/implicit/traced_svds.hpp>

namespace sla {

namespace detail {
/// How (U, s, V) depends on A, of dual numbers, backward: as singular_rule.
template <class Part>
struct dual_singular_rule {
  using rule_tag = void;
  Part a;
  eigen_report report;

  template <class Y, class G>
  void pullback(Y const& y, G const& g) const {
    auto const& A = a.value();
    auto const value = with_slope(hermitian_of(value_part(A)), hermitian_of(slope_part(A)));
    auto const both = [](auto const& of, double factor) {
      auto const one = [&](auto const& u, auto const& v) { return stacked(u, v, factor); };
      return with_slope(one(value_part(std::get<0>(of)), value_part(std::get<2>(of))), one(slope_part(std::get<0>(of)), slope_part(std::get<2>(of))));
    };
    auto const rule = [&]<class Operand>(Operand h) { return dual_eigen_rule<Operand, no_matrix>{std::move(h), {}, report, {}}; };
    pull_through_hermitian(a, value, rule, std::tuple(std::get<1>(y), both(y, std::sqrt(0.5))), std::tuple(std::get<1>(g), both(g, std::sqrt(2.0))));
  }
};
} // namespace detail

template <detail::DualTraced A, class W, class... Options>
auto perform(op::svds, A const& a, int k, W const& wanted, Options const&... options) {
  auto const operand = detail::operand_of(a);
  auto triplets = svds(detail::value_part(a.value()), k, wanted, options...);
  auto plain = std::tuple(std::move(triplets.left), std::move(triplets.values), std::move(triplets.right));
  detail::taken_tangent<decltype(plain)> slopes;
  detail::with_tangents(operand, detail::no_matrix{}, [&]<class Part>(Part const& part, auto const&) { detail::singular_rule<Part>{part, triplets.report}.pushforward(plain, slopes); });
  detail::dual_singular_rule<std::remove_const_t<decltype(operand)>> rule{operand, triplets.report};
  auto [U, s, V] = record(a.home(), detail::with_slope(plain, *slopes.found), std::move(rule));
  return singular_triplets<decltype(U), decltype(s), decltype(V)>{U, s, V, std::move(triplets.report)};
}

} // namespace sla
