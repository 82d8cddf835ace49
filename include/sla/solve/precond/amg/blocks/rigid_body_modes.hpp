// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rigid motions of points: the near-null space of elasticity, for `amg{.near_null = rigid_body_modes(points)}`.
#pragma once

#include <sla/core/error.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// The translations and the rotations of n points of the plane, (n, 2), or of space, (n, 3): 3 or 6 columns, and a row per point and
/// component, (n d, k), those of a point one after the other. Rotations are about the middle of the points.
///     auto x = solve(K, f, cg{}, amg{.near_null = rigid_body_modes(points)});
/// Errors: shape_error, if points have other than two or three coordinates.
/// Source: Vanek, Mandel, Brezina, Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems (1996), section 4.
template <class T, class E>
  requires(E::rank == 2 && !is_complex<T>)
matrix<T> rigid_body_modes(tensor<T, E> const& points) {
  index_t const n = points.extent(0), d = points.extent(1);
  if (d != 2 && d != 3) throw shape_error(text("rigid_body_modes: points have ", d, " coordinates, and should have two or three: a row per point"));
  double middle[3] = {};
  for (index_t p = 0; p < n; ++p)
    for (index_t c = 0; c < d; ++c) middle[c] += double(points(p, c)) / double(n);
  matrix<T> out({n * d, d == 2 ? 3 : 6});
  for (index_t p = 0; p < n; ++p) {
    auto const at = [&](index_t c) { return T(double(points(p, c)) - middle[c]); };
    for (index_t c = 0; c < d; ++c) out(p * d + c, c) = 1;
    for (index_t turn = d == 2 ? 2 : 0; turn < 3; ++turn) {  // about axis `turn`
      index_t const u = (turn + 1) % 3, v = (turn + 2) % 3, mode = d == 2 ? 2 : 3 + turn;
      out(p * d + u, mode) = -at(v), out(p * d + v, mode) = at(u);
    }
  }
  return out;
}

} // namespace sla
