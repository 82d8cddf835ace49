// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What GMRES and its flexible form share: cycles of Arnoldi's process, orthogonalised twice by classical Gram-Schmidt, with
// Givens rotations. One text for host, device and ranks. The methods are gmres.hpp and fgmres.hpp.
#pragma once

#include <limits>
#include <vector>

#include <sla/core/kept_blocks.hpp>
#include <sla/solve/seam/stop.hpp>

namespace sla::detail {
/// The least-squares problem of one cycle after its latest column, per item, kept where scalars of the space are: the rotations so
/// far, the rotated right-hand side g, and that column of R.
template <class T, int Capacity>
struct rotations {
  int columns = 0;
  real_t<T> largest = 0;  ///< of the squares of all columns so far
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
    Real square = Real(ww);
    for (int j = 0; j <= k; ++j) q.column[j] = h[j] + h2[j], square += abs2_of(q.column[j]);
    if (q.largest < square) q.largest = square;
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
/// y_k by back substitution, from the last k on: column k of R times y_k is taken from the others. A column of zeros (A is
/// singular) is passed over, and one whose last entry is no more than rounding beside all columns so far.
template <class T, int Capacity>
struct substitute {
  static constexpr real_t<T> unit = std::numeric_limits<real_t<T>>::epsilon();  // a constant, since devices call no function of the host
  int k;
  SLA_HD fixed_array<T, Capacity> operator()(fixed_array<T, Capacity> y, rotations<T, Capacity> q) const {
    if (q.columns != k + 1) return y;
    using R = real_t<T>;
    R const rounding = R(4 + k) * unit;
    y[k] = abs2_of(q.column[k]) > rounding * rounding * q.largest ? y[k] / q.column[k] : T{};
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

/// How the right preconditioner of a cycle is kept: `fixed`, applied once more to the combined basis at the end, or `varying`,
/// where what it gave at each step is combined instead.
enum class right_preconditioner { fixed, varying };

/// Cycles of `restart` <= Capacity basis vectors until `make_stop`'s test is content. Returns one progress per item.
template <int Capacity, right_preconditioner How, class Method, class S, class A, class M, class V, class MakeStop>
constexpr auto arnoldi_cycles(Method const& method, S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
  int const restart = method.restart;
  if (restart < 1 || restart > Capacity)
    throw value_error(text(Method::name, "{.restart = ", restart, "}: from 1 to ", Capacity, " basis vectors",
                           restart > Capacity ? text("; basic_", Method::name, '<', restart, "> keeps more") : ""));
  using T = typename V::value_type;
  using H = accumulator_t<kernel_t<T>>;
  constexpr bool varying = How == right_preconditioner::varying;
  std::vector<V> basis, images;  // v_k and M v_k; of a fixed M only the latest image
  basis.reserve(std::size_t(restart));
  images.reserve(std::size_t(varying ? restart : 1));
  auto w = space.template like<T>(b);

  auto [rr, bb] = fuse(space, set(w, b - a * x), squared_norm_of(w), squared_norm_of(b));
  auto stop = make_stop(space, bb);
  bool on = stop.go_on(rr);
  kept_list<decltype(space.map(begin_cycle<H, Capacity>{}, rr))> columns;
  columns.reserve(std::size_t(restart));
  while (on) {
    auto rotations = space.map(begin_cycle<H, Capacity>{}, rr);
    auto scale = space.map(inverse_length{}, stop.state(), rr);
    columns.clear();
    int k = 0;
    for (; k < restart && on; ++k) {
      std::size_t const at = std::size_t(k), image = varying ? at : 0;
      if (at == basis.size()) basis.push_back(space.template like<T>(b));
      if (image == images.size()) images.push_back(space.template like<T>(b));
      auto [h] = fuse(space, set(basis[at], scale * w), set(images[image], m * basis[at]), set(w, a * images[image]),
                      dots<Capacity>(basis, k + 1, w));
      auto [h2] = fuse(space, set(w, w - combine(basis, k + 1, h)), dots<Capacity>(basis, k + 1, w));
      auto [ww] = fuse(space, set(w, w - combine(basis, k + 1, h2)), squared_norm_of(w));
      rotations = space.map(take_column<H, Capacity>{}, stop.state(), rotations, h, h2, ww);
      scale = space.map(inverse_length{}, stop.state(), ww);
      columns.push_back(rotations);
      on = stop.go_on(space.map(estimate_residual{}, rotations, ww));
    }
    auto y = space.map(begin_substitution<H, Capacity>{}, rotations);
    for (int j = k; j-- > 0;) y = space.map(substitute<H, Capacity>{j}, y, columns[std::size_t(j)]);
    // the true residual decides how the next cycle begins
    auto true_residual = [&] {
      if constexpr (varying)
        return fuse(space, set(x, x + combine(images, k, y)), set(w, b - a * x), squared_norm_of(w));
      else
        return fuse(space, set(w, combine(basis, k, y)), set(images[0], m * w), set(x, x + images[0]), set(w, b - a * x), squared_norm_of(w));
    };
    rr = std::get<0>(true_residual());
  }
  return stop.outcome();
}
} // namespace sla::detail
