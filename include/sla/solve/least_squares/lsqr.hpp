// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LSQR: conjugate gradients on the normal equations, by the process of Golub and Kahan, which keeps the digits that A^H A would lose (Paige
// and Saunders, LSQR: an algorithm for sparse linear equations and sparse least squares, ACM TOMS 1982). One text for host, device and ranks.
#pragma once

#include <sla/solve/least_squares/golub_kahan.hpp>

namespace sla {

namespace detail {
/// The rotation of a step, in the letters of the paper, section 4.
template <class R>
struct lsqr_numbers : bidiagonal<R> {
  R phibar = 0, rhobar = 0, theta = 0;

  SLA_HD void begin(R alpha) {
    phibar = this->beta;
    rhobar = alpha;
    this->stretch = alpha;
    this->of[gk_figure] = squared_figure(alpha * phibar, alpha, phibar, this->size_of_b);
  }
  SLA_HD void rotate(R alpha) {
    R const rho = std::hypot(rhobar, this->beta);
    if (rho == 0) {
      this->of[gk_figure] = 0;
      return;
    }
    this->bounds.see(rho, theta);
    R const c = rhobar / rho, s = this->beta / rho;
    this->of[gk_step] = c * phibar / rho;
    theta = s * alpha;
    this->of[gk_turn] = theta / rho;
    rhobar = -c * alpha;
    phibar = s * phibar;
    this->of[gk_figure] = squared_figure(phibar * alpha * (c < 0 ? -c : c), this->stretch, phibar, this->size_of_b);
  }
};
template <class S, class X>
struct lsqr_vectors {
  S& space;
  X w;

  lsqr_vectors(S& s, X const& x) : space(s), w(s.template like<typename X::value_type>(x)) { fuse(space, set(w, 0.0 * x)); }
  /// The first w is v: until then step is 0.
  template <class The, class Turn>
  auto pending(The const& the, X& x, X const& v, Turn const& turn) {
    return turn(set(x, x + the(gk_step) * w), set(w, the(gk_over_alpha) * v - the(gk_turn) * w));
  }
  template <class The>
  void last(The const& the, X& x) {
    fuse(space, set(x, x + the(gk_step) * w));
  }
};
} // namespace detail

/// Options of the method, and its name: `least_squares(A, b, lsqr{.rtol = 1e-10, .damping = 0.1})`. |r| falls in every step; |A^H r|, by which x is judged,
/// does not: where that counts, or it is stopped early, lsmr{} is the better one. From x = 0 it finds the shortest x, whatever the rank of A.
/// Cost: per iteration A v, A^H u, and one pass over 3 vectors of x's size. Memory: 2 vectors like x, one like b; damping adds one like x, M one.
/// Errors, in the report: indefinite_preconditioner.
struct lsqr {
  double rtol = default_rule().rtol;
  int max_iterations = default_rule().max_iterations;
  double damping = 0;
  observer watch = {};

  using least_squares_tag = void;
  static constexpr char const* name = "lsqr";

  /// Improves x until `make_stop`'s test is content.
  template <class S, class P, class M, class X, class MakeStop>
  static least_squares_run run(S& space, P const& problem, M const& m, X& x, MakeStop make_stop) {
    using R = real_t<accumulator_t<kernel_t<typename X::value_type>>>;
    detail::lsqr_vectors<S, X> vectors(space, x);
    return detail::bidiagonalize<detail::lsqr_numbers<R>>(space, problem, m, x, make_stop, vectors);
  }
};

} // namespace sla
