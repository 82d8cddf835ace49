// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The process of Golub and Kahan, by products with A and A^H: A V = U B with B lower bidiagonal (SIAM J. Numer. Anal. 1965), of
// [A; damping] where there is damping, and in the inner product of M^-1 where there is a preconditioner (Arioli, SIMAX 2013).
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sla/solve/least_squares/least_squares_problem.hpp>
#include <sla/solve/precond/identity.hpp>

namespace sla::detail {

/// The coefficients of the next pass, by their place in `of`: those of the process, then those of the method's own vectors.
enum bidiagonal_coefficient { gk_over_alpha, gk_keep_u, gk_over_beta, gk_keep_v, gk_first, gk_step, gk_turn, gk_figure };

/// What the process knows of an item: the lengths of u and v, which are stored with them, and the stretches of A seen so far.
template <class R>
struct bidiagonal {
  R alpha = 0, beta = 0, size_of_b = 0;
  R stretch = 0;           ///< the longest column of B: |A| is no less
  bidiagonal_bounds<R> bounds{};
  reason end = reason::running;
  fixed_array<R, 8> of{};
};
/// |u|^2 is known: u / beta, and A^H u - beta v next.
struct take_beta {
  template <class N, class R>
  SLA_HD N operator()(reason state, N n, R uu) const {
    bool const runs = state == reason::running;
    n.beta = std::sqrt(uu);
    n.of[gk_over_beta] = runs && n.beta > 0 ? 1 / n.beta : R(0);
    n.of[gk_keep_v] = runs && n.alpha > 0 ? n.beta / n.alpha : R(0);
    return n;
  }
};
/// The same at the beginning.
template <class N>
struct begin_beta {
  template <class R>
  SLA_HD N operator()(R uu, R bb) const {
    N n;
    n.size_of_b = std::sqrt(bb);
    return take_beta{}(reason::running, n, uu);
  }
};
/// (v, M v) is known: `n.rotate(alpha)` is the method's, which gives its coefficients and the figure that it stops by.
struct take_alpha {
  bool first;
  template <class N, class R>
  SLA_HD N operator()(reason state, N n, R vz) const {
    n.of[gk_step] = n.of[gk_over_alpha] = n.of[gk_keep_u] = 0;
    if (state != reason::running) {
      n.of[gk_first] = n.of[gk_turn] = 0;
      return n;
    }
    if (vz < 0) n.end = reason::indefinite_preconditioner;
    R const alpha = vz > 0 ? std::sqrt(vz) : vz - vz == 0 ? R(0) : vz;
    if (first) {
      n.begin(alpha);
    } else {
      R const column = std::hypot(n.alpha, n.beta);
      if (n.stretch < column) n.stretch = column;
      n.rotate(alpha);
    }
    n.alpha = alpha;
    n.of[gk_over_alpha] = alpha > 0 ? 1 / alpha : R(0);
    n.of[gk_keep_u] = n.beta > 0 ? alpha / n.beta : R(0);
    return n;
  }
};
/// |A^H r| / (|A| |r|), or |r| / |b| where that is less: each says that x is the solution to so many digits. Squared.
template <class R>
SLA_HD R squared_figure(R slope, R stretch, R residual, R size_of_b) {
  R const by_slope = slope > 0 ? slope / (stretch * residual) : slope, by_residual = residual / size_of_b;
  R const least = by_residual < by_slope ? by_residual : by_slope;
  return least * least;
}

/// The vectors of the process, for the problem from x.
template <class S, class P, class M, class X, class V>
class golub_kahan {
  static constexpr bool plain = std::same_as<M, applied_identity>;

public:
  using real = real_t<accumulator_t<kernel_t<typename V::value_type>>>;

  golub_kahan(S& space, P const& problem, M const& m, X const& x)
      : space_(space), p_(problem), m_(m), damping_(on_every_item(space, problem.damping)), u_(space.template like<typename V::value_type>(problem.b)), v_(space.template like<typename X::value_type>(x)) {
    if constexpr (!plain) z_.emplace(space.template like<typename X::value_type>(x));
    if (damped()) below_.emplace(space.template like<typename X::value_type>(x));
  }

  /// u = b - A x, below it -damping x: their squared norm, and that of b.
  auto begin(X const& x) {
    auto [uu, bb] = fuse(space_, set(u_, p_.b - p_.a * x), squared_norm_of(u_), squared_norm_of(p_.b));
    if (!damped()) return std::pair(uu, bb);
    auto [below] = fuse(space_, set(*below_, -(damping_ * x)), squared_norm_of(*below_));
    return std::pair(space_.map(sum_of_two{}, uu, below), bb);
  }
  /// v = A^H u / beta: (v, M v).
  template <class C>
  auto first_turn(C const& over_beta) {
    using sla::adjoint;
    if (damped()) return turned(set(v_, over_beta * (adjoint(p_.a) * u_ + damping_ * *below_)));
    return turned(set(v_, over_beta * (adjoint(p_.a) * u_)));
  }
  /// u = A v - alpha u: its squared norm.
  template <class C>
  auto advance(C const& over_alpha, C const& keep_u) {
    if (!damped()) {
      auto [uu] = fuse(space_, set(u_, over_alpha * (p_.a * direction()) - keep_u * u_), squared_norm_of(u_));
      return uu;
    }
    auto [uu, below] = fuse(space_, set(u_, over_alpha * (p_.a * direction()) - keep_u * u_), set(*below_, over_alpha * (damping_ * direction()) - keep_u * *below_),
                            squared_norm_of(u_), squared_norm_of(*below_));
    return space_.map(sum_of_two{}, uu, below);
  }
  /// The method's statements, which read v, then v = A^H u - beta v: (v, M v).
  template <class C, class... Statements>
  auto turn(C const& over_beta, C const& keep_v, Statements const&... statements) {
    using sla::adjoint;
    if (damped()) return turned(statements..., set(v_, over_beta * (adjoint(p_.a) * u_ + damping_ * *below_) - keep_v * v_));
    return turned(statements..., set(v_, over_beta * (adjoint(p_.a) * u_) - keep_v * v_));
  }
  /// M v, with its length.
  X const& direction() const {
    if constexpr (plain)
      return v_;
    else
      return *z_;
  }

private:
  bool damped() const { return p_.damping > 0; }
  template <class... Statements>
  auto turned(Statements const&... statements) {
    if constexpr (plain) {
      return std::get<0>(fuse(space_, statements..., squared_norm_of(v_)));
    } else {
      auto [vz] = fuse(space_, statements..., set(*z_, m_ * v_), dot_of(v_, *z_));
      return space_.map(real_part_of{}, vz);
    }
  }
  S& space_;
  P const& p_;
  M const& m_;
  scalar_of_t<S, double> damping_;
  V u_;
  X v_;
  std::optional<X> z_, below_;
};

/// The loop of LSMR and LSQR: Numbers are those of an item, with `begin` and `rotate`; `vectors` has the method's own, `pending(the)` the
/// statements that bring them and x up to the latest rotation, a step behind, so that v is read once; `last` those of x alone.
template <class Numbers, class S, class P, class M, class X, class MakeStop, class Vectors>
least_squares_run bidiagonalize(S& space, P const& problem, M const& m, X& x, MakeStop make_stop, Vectors& vectors) {
  using V = std::remove_cvref_t<decltype(problem.b)>;
  golub_kahan<S, P, M, X, V> process(space, problem, m, x);
  auto [uu, bb] = process.begin(x);
  auto n = space.map(begin_beta<Numbers>{}, uu, bb);
  auto const the = [&](bidiagonal_coefficient which) { return space.map(number_of_method{which}, n); };
  auto const vz = process.first_turn(the(gk_over_beta));
  auto stop = make_stop(space, space.map(always_one{}, uu));
  n = space.map(take_alpha{true}, stop.state(), n, vz);
  stop.judge(end_of_method{}, n);
  while (stop.go_on(the(gk_figure))) {
    n = space.map(take_beta{}, stop.state(), n, process.advance(the(gk_over_alpha), the(gk_keep_u)));
    auto const vz2 = vectors.pending(the, x, process.direction(), [&](auto const&... statements) { return process.turn(the(gk_over_beta), the(gk_keep_v), statements...); });
    n = space.map(take_alpha{false}, stop.state(), n, vz2);
    stop.judge(end_of_method{}, n);
  }
  vectors.last(the, x);
  return end_run<M>(space, n, stop);
}

} // namespace sla::detail
