// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CGLS: conjugate gradients on the normal equations, which are not formed (Hestenes and Stiefel 1952; Bjorck, Numerical Methods for Least
// Squares Problems, algorithm 7.4.1). It takes a linear term too, as derivatives need. One text for host, device and ranks.
#pragma once

#include <sla/solve/least_squares/least_squares_problem.hpp>

namespace sla {

namespace detail {
enum cgls_coefficient { cgls_step, cgls_beta, cgls_figure };
/// What CGLS knows of an item: in the norm of M, as the process has it.
template <class R>
struct cgls_numbers {
  R gamma = 0;  ///< (s, M s)
  bidiagonal_bounds<R> bounds{};
  R size_of_b = 0, size_of_linear = 0;
  reason end = reason::running;
  fixed_array<R, 3> of{};

  /// `size` is that of A, or less.
  SLA_HD void judge(R size, R residual) {
    R const slope = std::sqrt(gamma), beside = size * residual;
    R figure = slope > 0 ? slope / (beside > size_of_linear ? beside : size_of_linear) : slope;
    if (size_of_linear == 0 && residual < figure * size_of_b) figure = residual / size_of_b;
    of[cgls_figure] = figure * figure;
  }
};
template <class R>
struct begin_cgls {
  double damping;
  SLA_HD cgls_numbers<R> operator()(R gamma, R rr, R xx, R bb, R cc) const {
    cgls_numbers<R> n;
    n.gamma = gamma;
    n.size_of_b = std::sqrt(bb), n.size_of_linear = std::sqrt(cc);
    if (gamma < 0) n.end = reason::indefinite_preconditioner, n.gamma = 0;
    R const residual = std::sqrt(rr + R(damping * damping) * xx);
    n.judge(residual > 0 ? std::sqrt(n.gamma) / residual : R(0), residual);
    return n;
  }
};
/// (p, N p) is known: the step.
template <class R>
struct take_curvature {
  double damping;
  SLA_HD cgls_numbers<R> operator()(reason state, cgls_numbers<R> n, R qq, R pp) const {
    R const before = n.of[cgls_step];
    n.of[cgls_step] = 0;
    if (state != reason::running) return n;
    R const curvature = qq + R(damping * damping) * pp;
    if (!(curvature > 0)) {
      n.end = curvature - curvature == 0 ? reason::breakdown : reason::not_a_number;
      return n;
    }
    n.of[cgls_step] = n.gamma / curvature;
    if (n.gamma > 0) n.bounds.see(std::sqrt(1 / n.of[cgls_step]), before > 0 ? std::sqrt(n.of[cgls_beta] / before) : R(0));
    return n;
  }
};
template <class R>
struct take_slope {
  double damping;
  SLA_HD cgls_numbers<R> operator()(reason state, cgls_numbers<R> n, R gamma, R rr, R xx) const {
    n.of[cgls_beta] = 0;
    if (state != reason::running || n.end != reason::running) return n;
    if (gamma < 0) n.end = reason::indefinite_preconditioner, gamma = 0;
    n.of[cgls_beta] = n.gamma > 0 ? gamma / n.gamma : R(0);
    n.gamma = gamma;
    n.judge(n.bounds.size, std::sqrt(rr + R(damping * damping) * xx));
    return n;
  }
};
} // namespace detail

/// Options of the method, and its name: `least_squares(A, b, cgls{.rtol = 1e-10, .damping = 0.1})`. In exact arithmetic its iterates are those of lsqr{}, which is the
/// safer where A is ill-conditioned. From x = 0 it finds the shortest x, whatever the rank of A.
/// Cost: per iteration A p, A^H r, one pass over 2 vectors of b's size and one over 3 of x's. Memory: 2 vectors like b, 2 like x; M adds one.
/// Errors, in the report: indefinite_preconditioner; breakdown.
struct cgls {
  double rtol = default_rule().rtol;
  int max_iterations = default_rule().max_iterations;
  double damping = 0;
  observer watch = {};

  using least_squares_tag = void;
  static constexpr char const* name = "cgls";

  /// Improves x until `make_stop`'s test is content.
  template <class S, class P, class M, class X, class MakeStop>
  static least_squares_run run(S& space, P const& problem, M const& m, X& x, MakeStop make_stop) {
    using sla::adjoint;
    using V = std::remove_cvref_t<decltype(problem.b)>;
    using T = typename X::value_type;
    using R = real_t<accumulator_t<kernel_t<T>>>;
    auto const& [a, b, damping, linear] = problem;
    auto const d2 = detail::on_every_item(space, damping * damping);
    V r = space.template like<typename V::value_type>(b), q = space.template like<typename V::value_type>(b);
    X s = space.template like<T>(x), p = space.template like<T>(x), z = space.template like<T>(x);

    // s = A^H r - damping^2 x + linear, z = M s: (s, M s), |x|^2
    auto const turn = [&space, &problem, &m, &x, &r, &s, &z, d2] {
      if (problem.linear) return fuse(space, set(s, adjoint(problem.a) * r - d2 * x + *problem.linear), set(z, m * s), dot_of(s, z), squared_norm_of(x));
      return fuse(space, set(s, adjoint(problem.a) * r - d2 * x), set(z, m * s), dot_of(s, z), squared_norm_of(x));
    };
    auto [rr, bb] = fuse(space, set(r, b - a * x), squared_norm_of(r), squared_norm_of(b));
    auto cc = space.map(detail::zero_number{}, bb);
    if (linear) {
      auto [of_linear] = fuse(space, set(z, m * *linear), dot_of(*linear, z));
      cc = space.map(detail::real_part_of{}, of_linear);
    }
    auto [sz, xx] = turn();
    auto [pp] = fuse(space, set(p, z), squared_norm_of(p));
    auto n = space.map(detail::begin_cgls<R>{damping}, space.map(detail::real_part_of{}, sz), rr, xx, bb, cc);
    auto const the = [&space, &n](detail::cgls_coefficient which) { return space.map(detail::number_of_method{which}, n); };
    auto stop = make_stop(space, space.map(detail::always_one{}, bb));
    stop.judge(detail::end_of_method{}, n);
    while (stop.go_on(the(detail::cgls_figure))) {
      auto [qq] = fuse(space, set(q, a * p), squared_norm_of(q));
      n = space.map(detail::take_curvature<R>{damping}, stop.state(), n, qq, pp);
      auto const step = the(detail::cgls_step);
      auto [rr2] = fuse(space, set(x, x + step * p), set(r, r - step * q), squared_norm_of(r));
      auto [sz2, xx2] = turn();
      n = space.map(detail::take_slope<R>{damping}, stop.state(), n, space.map(detail::real_part_of{}, sz2), rr2, xx2);
      stop.judge(detail::end_of_method{}, n);
      auto const beta = the(detail::cgls_beta);
      auto [pp2] = fuse(space, set(p, z + beta * p), squared_norm_of(p));
      pp = pp2;
    }
    return detail::end_run<M>(space, n, stop);
  }
};

} // namespace sla
