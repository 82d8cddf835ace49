// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Restarted, right-preconditioned GMRES for general A (Saad and Schultz 1986; Saad, Iterative Methods for Sparse Linear
// Systems, algorithm 9.5), orthogonalised twice by classical Gram-Schmidt. One text for host, device and ranks.
#pragma once

#include <vector>

#include <sla/solve/stop.hpp>

namespace sla {

namespace detail {
/// The least-squares problem of one cycle after its latest column, per item, resident like any scalar: the rotations so
/// far, the rotated right-hand side g, and that column of R.
template <class T, int Capacity>
struct rotations {
  int columns = 0;
  fixed_array<real_t<T>, Capacity> c;
  fixed_array<T, Capacity> s, column;
  fixed_array<T, Capacity + 1> g;
};
template <class T, int Capacity>
struct begin_cycle {
  template <class R>
  SLA_HD rotations<T, Capacity> operator()(R rr) const {
    rotations<T, Capacity> q;
    q.g[0] = T(std::sqrt(rr));
    return q;
  }
};
/// Takes the column h + h2 with |w|^2 below it; a stopped item takes none.
template <class T, int Capacity>
struct take_column {
  template <class R>
  SLA_HD rotations<T, Capacity> operator()(reason state, rotations<T, Capacity> q, fixed_array<T, Capacity> h,
                                           fixed_array<T, Capacity> h2, R ww) const {
    if (state != reason::running || !(ww - ww == 0)) return q;
    using Real = real_t<T>;
    int const k = q.columns;
    for (int j = 0; j <= k; ++j) q.column[j] = h[j] + h2[j];
    for (int j = 0; j < k; ++j) {
      T const top = q.column[j], below = q.column[j + 1];
      q.column[j] = op::mul::apply(q.c[j], top) + q.s[j] * below;
      q.column[j + 1] = op::mul::apply(q.c[j], below) - conj_of(q.s[j]) * top;
    }
    T const a = q.column[k];
    Real const size = abs_of(a), below = std::sqrt(Real(ww)), length = std::hypot(size, below);
    q.c[k] = length > 0 ? size / length : Real(1);
    q.s[k] = !(length > 0) ? T{} : size > 0 ? op::mul::apply(below / length, op::div::apply(a, size)) : T(1);
    q.column[k] = length > 0 ? op::mul::apply(q.c[k], a) + op::mul::apply(below, q.s[k]) : T{};
    q.g[k + 1] = -(conj_of(q.s[k]) * q.g[k]);
    q.g[k] = op::mul::apply(q.c[k], q.g[k]);
    ++q.columns;
    return q;
  }
};
/// |b - A x|^2, as the rotations see it; not a number where the last column was none.
struct estimate_residual {
  template <class T, int Capacity, class R>
  SLA_HD R operator()(rotations<T, Capacity> q, R ww) const {
    return ww - ww == 0 ? abs2_of(q.g[q.columns]) : ww;
  }
};
template <class T, int Capacity>
struct begin_substitution {
  SLA_HD fixed_array<T, Capacity> operator()(rotations<T, Capacity> q) const {
    fixed_array<T, Capacity> y;
    for (int j = 0; j < q.columns; ++j) y[j] = q.g[j];
    return y;
  }
};
/// y_k, once those above it are known: column k of R leaves the others. A column of zeros (A is singular) is passed over.
template <class T, int Capacity>
struct substitute {
  int k;
  SLA_HD fixed_array<T, Capacity> operator()(fixed_array<T, Capacity> y, rotations<T, Capacity> q) const {
    if (q.columns != k + 1) return y;
    y[k] = abs2_of(q.column[k]) > 0 ? y[k] / q.column[k] : T{};
    for (int j = 0; j < k; ++j) y[j] = y[j] - q.column[j] * y[k];
    return y;
  }
};
/// 1 / |w| for a running item; 0 where w vanished, so that the next direction is 0.
struct inverse_length {
  template <class R>
  SLA_HD R operator()(reason state, R ww) const {
    return state == reason::running && ww > 0 ? 1 / std::sqrt(ww) : R(0);
  }
};
}  // namespace detail

/// Options of the method, and its name: `solve(A, b, gmres{.restart = 20}, ilu0{})`. At most Capacity basis vectors.
/// Cost: four passes per iteration, which read the basis twice. Memory: restart + 2 vectors.
/// Errors: a restart beyond the capacity.
template <int Capacity>
struct basic_gmres {
  int restart = Capacity < 30 ? Capacity : 30;
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = default_rule().watch;

  using method_tag = void;
  static constexpr char const* name = "gmres";
  static constexpr bool needs_definite = false;
  static constexpr int capacity = Capacity;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) const {
    if (restart < 1 || restart > Capacity)
      throw value_error(text("gmres{.restart = ", restart, "}: from 1 to ", Capacity, " basis vectors; basic_gmres<", restart,
                             "> keeps more"));
    using T = typename V::value_type;
    using H = accumulator_t<kernel_t<T>>;
    std::vector<V> basis;
    auto w = space.template like<T>(b), z = space.template like<T>(b);

    auto [rr, bb] = fuse(space, set(w, b - a * x), squared_norm(w), squared_norm(b));
    auto stop = make_stop(space, bb);
    bool on = stop.go_on(rr);
    while (on) {
      auto turns = space.map(detail::begin_cycle<H, Capacity>{}, rr);
      auto scale = space.map(detail::inverse_length{}, stop.state(), rr);
      std::vector<decltype(turns)> columns;
      int k = 0;
      for (; k < restart && on; ++k) {
        if (k == int(basis.size())) basis.push_back(space.template like<T>(b));
        auto [h] = fuse(space, set(basis[std::size_t(k)], scale * w), set(z, m * basis[std::size_t(k)]), set(w, a * z),
                        dots<Capacity>(basis, k + 1, w));
        auto [h2] = fuse(space, set(w, w - combine(basis, k + 1, h)), dots<Capacity>(basis, k + 1, w));
        auto [ww] = fuse(space, set(w, w - combine(basis, k + 1, h2)), squared_norm(w));
        turns = space.map(detail::take_column<H, Capacity>{}, stop.state(), turns, h, h2, ww);
        scale = space.map(detail::inverse_length{}, stop.state(), ww);
        columns.push_back(turns);
        on = stop.go_on(space.map(detail::estimate_residual{}, turns, ww));
      }
      auto y = space.map(detail::begin_substitution<H, Capacity>{}, turns);
      for (int j = k; j-- > 0;) y = space.map(detail::substitute<H, Capacity>{j}, y, columns[std::size_t(j)]);
      // the true residual decides how the next cycle begins
      auto [rr1] = fuse(space, set(w, combine(basis, k, y)), set(z, m * w), set(x, x + z), set(w, b - a * x), squared_norm(w));
      rr = rr1;
    }
    return stop.finish();
  }
};

using gmres = basic_gmres<32>;

}  // namespace sla
