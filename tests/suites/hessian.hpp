// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How products with Hessians are checked: <u, H v> = <v, H u>, and the Taylor remainder of <u, grad f> along v, whose rate is 2.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/hvp.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace gradient {

struct hessian_options {
  double h = 1e-3;         ///< the first step of the Taylor test, in units of the arguments
  double symmetry = 1e-9;  ///< how well <u, H v> = <v, H u> holds
};

/// Both, along random directions.
template <class F, class... X>
void check_hessian(F const& f, std::tuple<X const&...> const& x, hessian_options const& options = {}) {
  auto const v = sla::detail::random_directions(x, 3), u = sla::detail::random_directions(x, 14);
  auto const pair = [&]<std::size_t... K>(std::index_sequence<K...>, auto const& a, auto const& b) { return (pairing(std::get<K>(a), std::get<K>(b)) + ...); };
  constexpr std::index_sequence_for<X...> all;
  auto const Hv = sla::hvp(f, x, v), Hu = sla::hvp(f, x, u);
  double const along = pair(all, Hv, u), size = std::abs(along) + std::abs(pair(all, Hv, v));
  CHECK(size > 1e-9);
  CHECK(std::abs(along - pair(all, Hu, v)) <= options.symmetry * size);
  auto const phi = [&](double h) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      auto const g = sla::value_and_gradient(f, moved(std::get<K>(x), h, std::get<K>(v))...);
      return (pairing(std::get<K + 1>(g), std::get<K>(u)) + ...);
    }(all);
  };
  CHECK(remainder_rate(phi, along, options.h) == Approx(2).margin(0.05));
}

} // namespace gradient
