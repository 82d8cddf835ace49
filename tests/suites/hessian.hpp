// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How products with Hessians are checked: <u, H v> = <v, H u>, and <v, H v> against second differences of the plain function, which come
// near it with the square of the step.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/call/hvp.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace gradient {

struct hessian_options {
  double h = 0.01;         ///< the larger step, in units of the arguments
  double symmetry = 1e-9;  ///< how well <u, H v> = <v, H u> holds
};

/// Both, along random directions; f takes plain arguments too.
template <class F, class... X>
void check_hessian(F const& f, std::tuple<X const&...> const& x, hessian_options const& options = {}) {
  auto const v = sla::detail::random_directions(x, 3), u = sla::detail::random_directions(x, 14);
  constexpr std::index_sequence_for<X...> all;
  auto const pair = [&]<std::size_t... K>(std::index_sequence<K...>, auto const& a, auto const& b) { return (pairing(std::get<K>(a), std::get<K>(b)) + ...); };
  auto const at = [&](double h) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return double(f(moved(std::get<K>(x), h, std::get<K>(v))...)); }(all);
  };
  auto const Hv = sla::hvp(f, x, v), Hu = sla::hvp(f, x, u);
  double const along = pair(all, Hv, v), size = std::abs(along) + std::abs(pair(all, Hv, u)), middle = at(0);
  CHECK(size > 1e-9);
  CHECK(std::abs(pair(all, Hv, u) - pair(all, Hu, v)) <= options.symmetry * size);
  auto const error = [&](double h) { return std::abs((at(h) - 2 * middle + at(-h)) / (h * h) - along); };
  double const h = options.h;
  CHECK(error(h) <= 0.1 * std::abs(along));
  CHECK(std::log2(error(h) / error(h / 2)) == Approx(2).margin(0.05));
}

} // namespace gradient
