// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a rule is checked in both directions at once: <w, J d> = <J^H w, d>, where J is of forward and J^H of reverse mode, and the
// Taylor remainder of the value along d, whose rate is 2.
#pragma once

#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace gradient {

/// Re <w, y> of a traced result, of any kind.
template <class W, class Y>
auto paired(W const& w, Y const& y) {
  if constexpr (sla::is_sparse_tensor<W>)
    return sla::real(sla::dot(sla::values(w), sla::values(y)));
  else if constexpr (sla::is_tensor<W>)
    return sla::real(sla::dot(w, y));
  else
    return sla::real(sla::conj(y) * w);
}

struct dual_options {
  double h = 1e-3;          ///< the first step of the Taylor test, in units of the arguments
  double accuracy = 1e-12;  ///< of <w, J d> = <J^H w, d>
  int seed = 1;
  bool along_itself = false;  ///< on ranks: x is the direction
};

/// Both checks for y = f(x...), traced arguments and plain.
template <class F, class... X>
void check_dual(F const& f, std::tuple<X const&...> const& x, dual_options const& options = {}) {
  auto const d = sla::detail::random_directions(x, std::uint64_t(options.seed));
  constexpr std::index_sequence_for<X...> all;
  auto const forward = sla::jvp(f, x, d);
  auto const& y = std::get<0>(forward);
  using Y = std::remove_cvref_t<decltype(y)>;
  Y const w = sla::detail::random_direction(y, 99);
  double const along = pairing(w, std::get<1>(forward));

  auto const reverse = [&]<std::size_t... K>(std::index_sequence<K...>) {
    return sla::value_and_gradient([&](auto const&... z) { return paired(w, f(z...)); }, std::get<K>(x)...);
  }(all);
  double back = 0, size = 0;
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    double const terms[] = {pairing(std::get<K + 1>(reverse), std::get<K>(d))...};
    for (double t : terms) back += t, size += std::abs(t);
  }(all);
  CHECK(along == Approx(back).epsilon(options.accuracy).margin(options.accuracy * size));
  CHECK(std::abs(along) > 1e-6 * size);

  auto const phi = [&](double h) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      Y const moved_y = f(moved(std::get<K>(x), h, std::get<K>(d))...);
      return pairing(w, moved_y);
    }(all);
  };
  CHECK(phi(0) == Approx(pairing(w, y)).epsilon(1e-9));
  CHECK(remainder_rate(phi, along, options.h) == Approx(2).margin(0.05));
}

}  // namespace gradient
