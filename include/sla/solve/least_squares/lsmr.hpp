// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LSMR: MINRES on the normal equations, by the process of Golub and Kahan (Fong and Saunders, LSMR: an iterative algorithm for sparse
// least-squares problems, SIAM J. Sci. Comput. 2011). One text for host, device and ranks.
#pragma once

#include <sla/solve/least_squares/golub_kahan.hpp>

namespace sla {

namespace detail {
/// The two rotations of a step, in the letters of the paper, section 2.6, and its estimate of |r|, section 5.1.
template <class R>
struct lsmr_numbers : bidiagonal<R> {
  R alphabar = 0, rho = 1, rhobar = 1, cbar = 1, sbar = 0, zeta = 0, zetabar = 0;
  R betadd = 0, betad = 0, rhod = 1, tautilde = 0, thetatilde = 0;

  SLA_HD void begin(R alpha) {
    alphabar = alpha;
    zetabar = alpha * this->beta;
    betadd = this->beta;
    this->stretch = alpha;
    this->of[gk_figure] = squared_figure(zetabar, alpha, this->beta, this->size_of_b);
  }
  SLA_HD void rotate(R alpha) {
    R const rhoold = rho, rhobarold = rhobar, zetaold = zeta, above = this->of[gk_turn] * rho;
    rho = std::hypot(alphabar, this->beta);
    if (rho == 0) {  // A v = 0: x is as it should be
      this->of[gk_figure] = 0;
      return;
    }
    this->bounds.see(rho, above);
    R const c = alphabar / rho, s = this->beta / rho, thetanew = s * alpha;
    alphabar = c * alpha;
    R const thetabar = sbar * rho, rhotemp = cbar * rho;
    rhobar = std::hypot(rhotemp, thetanew);
    if (rhobar == 0) {
      this->of[gk_figure] = 0;
      return;
    }
    cbar = rhotemp / rhobar, sbar = thetanew / rhobar;
    zeta = cbar * zetabar;
    zetabar = -sbar * zetabar;
    this->of[gk_first] = thetabar * rho / (rhoold * rhobarold);
    this->of[gk_step] = zeta / (rho * rhobar);
    this->of[gk_turn] = thetanew / rho;

    R const betahat = c * betadd;
    betadd = -s * betadd;
    R const rhotilde = std::hypot(rhod, thetabar), ctilde = rhod / rhotilde, stilde = thetabar / rhotilde, before = thetatilde;
    thetatilde = stilde * rhobar;
    rhod = ctilde * rhobar;
    betad = ctilde * betahat - stilde * betad;
    tautilde = (zetaold - before * tautilde) / rhotilde;
    R const taud = (zeta - thetatilde * tautilde) / rhod;
    R const residual = std::hypot(betad - taud, betadd), slope = zetabar < 0 ? -zetabar : zetabar;
    this->of[gk_figure] = squared_figure(slope, this->stretch, residual, this->size_of_b);
  }
};
template <class S, class X>
struct lsmr_vectors {
  S& space;
  X h, hbar;

  lsmr_vectors(S& s, X const& x) : space(s), h(s.template like<typename X::value_type>(x)), hbar(s.template like<typename X::value_type>(x)) { fuse(space, set(h, 0.0 * x), set(hbar, 0.0 * x)); }
  template <class The, class Turn>
  auto pending(The const& the, X& x, X const& v, Turn const& turn) {
    return turn(set(hbar, h - the(gk_first) * hbar), set(x, x + the(gk_step) * hbar), set(h, the(gk_over_alpha) * v - the(gk_turn) * h));
  }
  template <class The>
  void last(The const& the, X& x) {
    fuse(space, set(hbar, h - the(gk_first) * hbar), set(x, x + the(gk_step) * hbar));
  }
};
} // namespace detail

/// Options of the method, and its name: `least_squares(A, b, lsmr{.rtol = 1e-10, .damping = 0.1})`. |A^H r| falls in every step, and nearly always |r|, so that
/// it may be stopped early. From x = 0 it finds the shortest x, whatever the rank of A.
/// Cost: per iteration A v, A^H u, and one pass over 4 vectors of x's size. Memory: 3 vectors like x, one like b; damping adds one like x, M one.
/// Errors, in the report: indefinite_preconditioner.
struct lsmr {
  double rtol = default_rule().rtol;
  int max_iterations = default_rule().max_iterations;
  double damping = 0;
  observer watch = {};

  using least_squares_tag = void;
  static constexpr char const* name = "lsmr";

  /// Improves x until `make_stop`'s test is content.
  template <class S, class P, class M, class X, class MakeStop>
  static least_squares_run run(S& space, P const& problem, M const& m, X& x, MakeStop make_stop) {
    using R = real_t<accumulator_t<kernel_t<typename X::value_type>>>;
    detail::lsmr_vectors<S, X> vectors(space, x);
    return detail::bidiagonalize<detail::lsmr_numbers<R>>(space, problem, m, x, make_stop, vectors);
  }
};

} // namespace sla
