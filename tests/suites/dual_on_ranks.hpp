// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a gradient on ranks is checked, as on one (suites/dual.hpp): <g, d> = J d, where J d is of forward mode, and the Taylor remainder, whose
// rate is 2, through the public calls on distributed arguments; and the same number as that of one rank.
#pragma once

#include <sla/dist/grad/check_on_ranks.hpp>

#include "suites/dual.hpp"
#include "suites/spread.hpp"

namespace gradient {

/// Matrices by rows, vectors as the columns or rows of the first; numbers stay.
template <class D, class X>
auto laid(D const& d, X const& x) {
  if constexpr (sla::is_sparse_tensor<X>)
    return sla::distribute<sla::SparseShard<0>>(x, d.mesh(), d.row_layout());
  else if constexpr (sla::is_tensor<X>)
    return sla::distribute(x, d.row_layout());
  else
    return x;
}

/// For y = f(x...), a number, of plain, traced and distributed arguments, the first of which is a matrix: on 1, 2 and 4 ranks.
template <class F, class A, class... X>
void check_dual_on_ranks(F const& f, std::tuple<A const&, X const&...> const& x, dual_options const& options = {}) {
  auto const d = [&] {
    if (options.along_itself) return std::tuple<A, X...>(x);
    return sla::detail::random_directions(x, std::uint64_t(options.seed));
  }();
  double const alone = std::get<1>(sla::jvp(f, x, d));
  constexpr std::index_sequence_for<A, X...> all;
  for (int ranks : {1, 2, 4}) {
    auto const found = sla::threads::run(ranks, [&](auto& world) {
      sla::mesh<sla::axis<"rows">> m(world);
      auto const first = sla::distribute<sla::SparseShard<0>>(std::get<0>(x), m, sla::strips{});
      auto const lay = [&](auto const& values) { return std::apply([&](auto const&... v) { return std::tuple(laid(first, v)...); }, values); };
      auto const y = lay(x), dy = lay(d);
      using space = sla::direction_space<std::remove_cvref_t<decltype(first)>>;
      double const along = space::number(std::get<1>(sla::jvp(f, y, dy)));
      auto const reverse = std::apply([&](auto const&... v) { return sla::value_and_gradient(f, v...); }, y);
      double back = 0, size = 0;
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        double const terms[] = {sla::direction_space<std::remove_cvref_t<decltype(std::get<K>(y))>>::pairing(std::get<K + 1>(reverse), std::get<K>(dy))...};
        for (double t : terms) back += t, size += std::abs(t);
      }(all);
      auto const phi = [&](double h) {
        return [&]<std::size_t... K>(std::index_sequence<K...>) {
          return space::number(f(sla::direction_space<std::remove_cvref_t<decltype(std::get<K>(y))>>::moved(std::get<K>(y), h, std::get<K>(dy))...));
        }(all);
      };
      return std::array<double, 4>{along, back, size, remainder_rate(phi, back, options.h)};
    });
    for (auto const& [along, back, size, rate] : found) {
      CHECK(along == Approx(back).epsilon(options.accuracy).margin(options.accuracy * size));
      CHECK(along == Approx(alone).epsilon(options.accuracy).margin(options.accuracy * size));
      CHECK(std::abs(along) > 1e-6 * size);
      CHECK(rate == Approx(2).margin(0.05));
    }
  }
}

} // namespace gradient
