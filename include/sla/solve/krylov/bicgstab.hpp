// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BiCGStab, right-preconditioned, for general A (van der Vorst 1992; Saad, Iterative Methods for Sparse Linear Systems,
// algorithm 7.7). One text for host, device and ranks.
#pragma once

#include <sla/solve/seam/stop.hpp>

namespace sla {

namespace detail {
/// The step along t that makes r - omega t shortest; t = 0 only where r is 0 already.
struct shortest_step {
  template <class N, class D>
  SLA_HD auto operator()(reason state, N tr, D tt) const {
    bool const moves = state == reason::running && tt > 0;
    auto const omega = op::div::apply(tr, moves ? tt : D(1));
    return moves ? omega : decltype(omega){};
  }
};
/// (rho2 / rho) (alpha / omega); 0, which begins the directions anew, where that has no meaning.
struct next_direction {
  template <class T>
  SLA_HD T operator()(reason state, T rho2, T rho, T alpha, T omega) const {
    T const den = rho * omega;
    bool const sound = state == reason::running && abs2_of(den) > 0;
    T const beta = rho2 * alpha / (sound ? den : T(1));
    return sound && is_finite(beta) ? beta : T{};
  }
};
struct no_number {
  template <class T>
  SLA_HD T operator()(T) const {
    return T{};
  }
};
} // namespace detail

/// Options of the method, and its name: `solve(A, b, bicgstab{.rtol = 1e-10}, ilu0{})`.
/// Cost: two products and five passes per iteration. Memory: 7 vectors.
struct bicgstab {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = "bicgstab";
  static constexpr bool needs_definite = false;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  static constexpr auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    using T = typename V::value_type;
    auto r = space.template like<T>(b), shadow = space.template like<T>(b), p = space.template like<T>(b), v = space.template like<T>(b);
    auto y = space.template like<T>(b), z = space.template like<T>(b), t = space.template like<T>(b);

    auto [rho, rr, bb] = fuse(space, set(r, b - a * x), set(shadow, r), set(p, r), set(v, r), dot_of(shadow, r), squared_norm_of(r), squared_norm_of(b));
    auto beta = space.map(detail::no_number{}, rho), omega = beta;
    auto stop = make_stop(space, bb);
    while (stop.go_on(rr)) {
      auto [sv] = fuse(space, set(p, r + beta * (p - omega * v)), set(y, m * p), set(v, a * y), dot_of(shadow, v));
      auto alpha = stop.nonzero_ratio(rho, sv, reason::breakdown);
      auto [tr, tt] = fuse(space, set(r, r - alpha * v), set(z, m * r), set(t, a * z), dot_of(t, r), squared_norm_of(t));
      omega = space.map(detail::shortest_step{}, stop.state(), tr, tt);
      auto [rho2, rr2] = fuse(space, set(x, x + alpha * y + omega * z), set(r, r - omega * t), dot_of(shadow, r), squared_norm_of(r));
      beta = space.map(detail::next_direction{}, stop.state(), rho2, rho, alpha, omega);
      rho = rho2, rr = rr2;
    }
    return stop.outcome();
  }
};

} // namespace sla
