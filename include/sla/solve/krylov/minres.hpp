// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MINRES for Hermitian A of any sign, preconditioned by a Hermitian positive definite M (Paige and Saunders 1975; Elman,
// Silvester and Wathen, Finite Elements and Fast Iterative Solvers, algorithm 4.1). One text for host, device and ranks.
#pragma once

#include <limits>
#include <utility>

#include <sla/solve/seam/stop.hpp>

namespace sla {

namespace detail {
/// What multiplies the vectors of MINRES: x by way of `step`, v by `over_beta` and `alpha`, directions by the two `upper`,
/// the product by `beta`, and the residual by `keep` and `add`.
enum lanczos_coefficient { lanczos_step, lanczos_over_beta, lanczos_alpha, lanczos_upper, lanczos_upper2, lanczos_beta, lanczos_keep, lanczos_add };

/// The Lanczos process of one item and the rotations that make its tridiagonal matrix upper triangular, as far as the next
/// step needs them. Vectors are stored without their lengths: v = beta v_k, d = scale w_k.
template <class R>
struct tridiagonal_qr {
  reason end = reason::running;  ///< why the item has to stop, if it has to
  R beta = 0, coupling = 0;      ///< the length of v, and the same as an entry of the matrix: none before the first column
  R alpha = 0, bar = 0, gamma = 0;
  R cosine = 1, sine = 0, cosine2 = 1, sine2 = 0;  ///< of the latest two rotations
  R scale = 1, scale2 = 1, residual = 0, largest = 0;
  fixed_array<R, 8> of{};
};
template <class R>
struct begin_lanczos {
  template <class N>
  SLA_HD tridiagonal_qr<R> operator()(N rz) const {
    tridiagonal_qr<R> q;
    R const square = real_of(rz);
    if (!(square > 0)) q.end = square - square == 0 ? reason::indefinite_preconditioner : reason::not_a_number;
    q.beta = q.residual = square > 0 ? std::sqrt(square) : R(0);
    q.of[lanczos_keep] = 1;
    return q;
  }
};
/// The diagonal entry alpha = (z, A z) / beta^2: the next v and direction follow. The step along the direction before is
/// taken back where A, seen now, is so large that its own step was rounding.
template <class R>
struct take_diagonal {
  R rounding;
  template <class N>
  SLA_HD tridiagonal_qr<R> operator()(reason state, tridiagonal_qr<R> q, N za) const {
    bool const runs = state == reason::running;
    R const over_beta = runs && q.beta > 0 ? 1 / q.beta : R(0);
    q.alpha = real_of(za) * over_beta * over_beta;
    R const above = q.cosine2 * q.coupling;
    q.bar = q.cosine * q.alpha - q.sine * above;
    q.of[lanczos_over_beta] = over_beta;
    q.of[lanczos_alpha] = q.alpha * over_beta;
    q.of[lanczos_upper] = runs ? q.beta * (q.cosine * above + q.sine * q.alpha) / q.scale : R(0);
    q.of[lanczos_upper2] = runs ? q.beta * q.sine2 * q.coupling / q.scale2 : R(0);
    R const size = q.alpha < 0 ? -q.alpha : q.alpha;
    if (runs && q.coupling > 0 && q.gamma <= 100 * rounding * size) {
      q.end = reason::stagnated;
      q.of[lanczos_step] = 0;
    }
    return q;
  }
};
/// The entry beta^2 = (v, M v) below it: the rotation, and with it the step and the residual. |A r| / |A| |r| at the root
/// of rounding means a least-squares solution: later steps would add multiples of null vectors to x.
template <class R>
struct take_length {
  R rounding;
  template <class N>
  SLA_HD tridiagonal_qr<R> operator()(reason state, tridiagonal_qr<R> q, N vz) const {
    q.of[lanczos_step] = q.of[lanczos_beta] = q.of[lanczos_add] = 0;
    q.of[lanczos_keep] = 1;
    if (state != reason::running || q.end != reason::running) return q;
    R const square = real_of(vz), sum = square + q.alpha;
    if (!(sum - sum == 0) || square < 0) {
      q.end = square < 0 ? reason::indefinite_preconditioner : reason::not_a_number;
      return q;
    }
    R const below = std::sqrt(square), column = std::hypot(std::hypot(q.coupling, q.alpha), below);
    if (q.largest < column) q.largest = column;
    if (std::hypot(q.bar, q.cosine * below) <= 10 * std::sqrt(rounding) * q.largest) {
      q.end = reason::stagnated;
      return q;
    }
    q.gamma = std::hypot(q.bar, below);
    R const cosine = q.bar / q.gamma, sine = below / q.gamma, scale = q.beta * q.gamma;
    q.of[lanczos_step] = cosine * q.residual / scale;
    q.residual *= -sine;
    q.of[lanczos_beta] = below * below / q.beta;
    q.of[lanczos_keep] = sine * sine;
    q.of[lanczos_add] = below > 0 ? cosine * q.residual / below : R(0);
    q.cosine2 = q.cosine, q.sine2 = q.sine, q.scale2 = q.scale;
    q.cosine = cosine, q.sine = sine, q.scale = scale;
    q.beta = q.coupling = below;
    return q;
  }
};
struct lanczos_end {
  template <class R>
  SLA_HD reason operator()(reason state, tridiagonal_qr<R> const& q) const {
    return state == reason::running ? q.end : state;
  }
};
struct coefficient_of {
  lanczos_coefficient which;
  template <class R>
  SLA_HD R operator()(tridiagonal_qr<R> const& q) const {
    return q.of[which];
  }
};
} // namespace detail

/// Options of the method, and its name: `solve(A, b, minres{.rtol = 1e-10}, row_norms{})`. For indefinite A; where A may be
/// singular, for b in its range. Its residual never grows in the norm of M; the stop test sees the 2-norm.
/// Cost: two passes per iteration; five points in CSR with Jacobi move 201 bytes per unknown. Memory: 6 vectors.
/// Errors, in the report: indefinite_preconditioner; stagnated, with a least-squares solution, where b is not in the range.
struct minres {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = "minres";
  static constexpr bool needs_definite = false, needs_hermitian = true;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  static constexpr auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    using T = typename V::value_type;
    using R = real_t<accumulator_t<kernel_t<T>>>;
    R const rounding = R(std::numeric_limits<real_t<T>>::epsilon());
    auto r = space.template like<T>(b), v = space.template like<T>(b), q = space.template like<T>(b);
    auto z = space.template like<T>(b), d = space.template like<T>(b), d2 = space.template like<T>(b);

    auto [rz, rr, bb] = fuse(space, set(r, b - a * x), set(v, r), set(d, r), set(d2, r), set(z, m * r), dot_of(r, z), squared_norm_of(r),
                             squared_norm_of(b));
    auto [za] = fuse(space, set(q, a * z), dot_of(z, q));
    auto qr = space.map(detail::begin_lanczos<R>{}, rz);
    auto const the = [&](detail::lanczos_coefficient which) { return space.map(detail::coefficient_of{which}, qr); };
    auto stop = make_stop(space, bb);
    while (stop.go_on(rr)) {
      qr = space.map(detail::take_diagonal<R>{rounding}, stop.state(), qr, za);
      auto const step = the(detail::lanczos_step), over_beta = the(detail::lanczos_over_beta), alpha = the(detail::lanczos_alpha);
      auto const upper = the(detail::lanczos_upper), upper2 = the(detail::lanczos_upper2);
      // x is a step behind, so that each direction is read once
      auto [vz] = fuse(space, set(x, x + step * d), set(d2, z - upper * d - upper2 * d2), set(q, over_beta * q - alpha * v),
                       set(z, m * q), dot_of(q, z));
      std::swap(d, d2);
      std::swap(q, v);
      qr = space.map(detail::take_length<R>{rounding}, stop.state(), qr, vz);
      stop.judge(detail::lanczos_end{}, qr);
      auto const beta = the(detail::lanczos_beta), keep = the(detail::lanczos_keep), add = the(detail::lanczos_add);
      auto [za2, rr2] = fuse(space, set(r, keep * r + add * v), set(q, a * z - beta * q), dot_of(z, q), squared_norm_of(r));
      za = za2, rr = rr2;
    }
    auto const step = the(detail::lanczos_step);
    fuse(space, set(x, x + step * d));
    return stop.outcome();
  }
};

} // namespace sla
