// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of a cycle on a grid, slab by slab: A x, the restriction of a residual, and the interpolation of a correction, with
// weights that follow from the operator (Dendy, Black box multigrid, Journal of Computational Physics 1982).
#pragma once

#include <algorithm>
#include <vector>

#include <sla/expr/dense/statement.hpp>
#include <sla/solve/precond/amg/grid/stencil.hpp>

namespace sla::detail {

/// A neighbour after a point, and the one before it: their couplings, and where x has them.
template <class R>
struct stencil_pair {
  R const *after, *x_after, *before, *x_before;
};
/// out (+)= the terms of `Count` pairs: a_ij x_j, or, for Differences, a_ij (x_j - x_i).
template <int Count, bool Differences, class R>
void add_pairs(stencil_pair<R> const* pairs, index_t lo, index_t hi, R const* x, R* out) {
  stencil_pair<R> p[Count];
  for (int q = 0; q < Count; ++q) p[q] = pairs[q];
  SLA_INDEPENDENT
  for (index_t i = lo; i < hi; ++i) {
    R const own = Differences ? x[i] : R(0);
    auto const term = [&](int q) { return p[q].after[i] * (p[q].x_after[i] - own) + p[q].before[i] * (p[q].x_before[i] - own); };
    out[i] += [&]<int... N>(std::integer_sequence<int, N...>) { return (... + term(N)); }(std::make_integer_sequence<int, Count>{});
  }
}

/// Of slab k: out = the sum of a_ij x_j over the neighbours of each point; with Differences, A x. x: this slab, the one before and the one after.
template <bool Differences, class R>
void slab_product(grid_view<R> const& A, index_t k, R const* before, R const* x, R const* after, R* out) {
  grid_shape const& s = A.shape;
  index_t const size = s.slab(), from = k * size;
  stencil_pair<R> p[13];
  for (int h = 0; h < s.pairs; ++h) {
    bool const same = h < s.inside;
    index_t const w = s.within(h), back = same ? w : w + size;
    p[h] = {A.off[h] + from, (same ? x : after) + w, A.off[h] + from - back, (same ? x : before) - w};
  }
  for (index_t lo = 0; lo < size; lo += 512) {  // in a cache, from group to group
    index_t const hi = (std::min)(size, lo + 512);
    for (index_t i = lo; i < hi; ++i) out[i] = Differences ? A.sums[from + i] * x[i] : R(0);
    int h = 0;
    for (; h + 4 <= s.pairs; h += 4) add_pairs<4, Differences>(p + h, lo, hi, x, out);
    for (; h + 2 <= s.pairs; h += 2) add_pairs<2, Differences>(p + h, lo, hi, x, out);
    if (h < s.pairs) add_pairs<1, Differences>(p + h, lo, hi, x, out);
  }
}

/// The last four slabs of a vector, with zeros around each.
template <class R>
class slab_ring {
public:
  explicit slab_ring(grid_shape const& s) : margin_(s.is_plane() ? 8 : s.nx + 8), stride_((s.slab() + 2 * margin_ + 31) / 16 * 16), all_(std::size_t(4 * stride_), R{}) {}
  R* operator[](index_t k) { return all_.data() + (k & 3) * stride_ + margin_; }

private:
  index_t margin_, stride_;
  std::vector<R> all_;
};

/// Coarse slab K of P^T r.
template <class R>
void restrict_slab(grid_view<R> const& A, index_t K, slab_ring<R>& r, R* out) {
  index_t const cx = A.coarse.nx, cs = A.coarse.slab();
  int const wide = A.shape.is_plane() ? 0 : 1;
  for (index_t J = 0; J < A.coarse.ny; ++J) {
    R* const o = out + J * cx;
    std::fill(o, o + cx, R(0));
    for (int az = -1; az <= 1; ++az)
      for (int ay = -wide; ay <= wide; ++ay) {
        int const t = (ay & 1) << 1 | (az & 1) << 2, to = (ay < 0 ? 2 : 0) | (az < 0 ? 4 : 0);
        R const* const x = r[2 * K + az] + (2 * J + ay) * A.shape.nx;
        index_t const s = K * cs + J * cx - (ay < 0 ? cx : 0) - (az < 0 ? cs : 0);
        R const *const left = A.weight[t | 1][to | 1] + s - 1, *const right = A.weight[t | 1][to] + s;
        if (t) {
          R const* const at = A.weight[t][to] + s;
          SLA_INDEPENDENT
          for (index_t ic = 0; ic < cx; ++ic) o[ic] += at[ic] * x[2 * ic] + left[ic] * x[2 * ic - 1] + right[ic] * x[2 * ic + 1];
        } else {
          SLA_INDEPENDENT
          for (index_t ic = 0; ic < cx; ++ic) o[ic] += x[2 * ic] + left[ic] * x[2 * ic - 1] + right[ic] * x[2 * ic + 1];
        }
      }
  }
}

/// A line of base + P e, whose coarse corners are `Count`; base(i) is for the line's i-th point.
template <int Count, class R, class Base>
void interpolate_line(grid_view<R> const& A, int t, index_t C, R const* e, Base const& base, R* x) {
  R const *from[Count], *even[Count], *odd[Count], *next[Count];
  int c = t;
  for (int q = 0; q < Count; ++q, c = (c - 1) & t) {
    from[q] = e + C + (c & 2 ? A.coarse.nx : 0) + (c & 4 ? A.coarse.slab() : 0);
    even[q] = t ? A.weight[t][c] + C : nullptr;
    odd[q] = A.weight[t | 1][c] + C, next[q] = A.weight[t | 1][c | 1] + C;
  }
  auto const sum = [](auto const& term) { return [&]<int... N>(std::integer_sequence<int, N...>) { return (... + term(N)); }(std::make_integer_sequence<int, Count>{}); };
  auto const at_even = [&](index_t ic) {
    if constexpr (Count == 1)
      return from[0][ic];
    else
      return sum([&](int q) { return even[q][ic] * from[q][ic]; });
  };
  index_t const half = A.shape.nx / 2;
  SLA_INDEPENDENT
  for (index_t ic = 0; ic < half; ++ic) {
    R const first = base(2 * ic) + at_even(ic);
    R const second = base(2 * ic + 1) + sum([&](int q) { return odd[q][ic] * from[q][ic] + next[q][ic] * from[q][ic + 1]; });
    x[2 * ic] = first, x[2 * ic + 1] = second;
  }
  if (A.shape.nx & 1) x[2 * half] = base(2 * half) + at_even(half);
}

/// Slab k of base + P e. base(i): of the i-th point of the slab.
template <class R, class Base>
void interpolate_slab(grid_view<R> const& A, index_t k, R const* e, Base const& base, R* out) {
  for (index_t j = 0; j < A.shape.ny; ++j) {
    int const t = int(j & 1) << 1 | int(k & 1) << 2;
    index_t const C = k / 2 * A.coarse.slab() + j / 2 * A.coarse.nx, first = j * A.shape.nx;
    auto const of_line = [&](index_t i) { return base(first + i); };
    if (t == 0)
      interpolate_line<1>(A, t, C, e, of_line, out + first);
    else if (t == 6)
      interpolate_line<4>(A, t, C, e, of_line, out + first);
    else
      interpolate_line<2>(A, t, C, e, of_line, out + first);
  }
}

/// Coarse slabs [first, last) of P^T y, where fill_x(k, x) makes slab k of a vector, and y is product(k, the slabs k - 1, k and k + 1 of x, out).
template <class R, class Fill, class Product>
void restricted_slabs(grid_view<R> const& A, index_t first, index_t last, Fill const& fill, Product const& product, R* out) {
  slab_ring<R> x(A.shape), y(A.shape);
  index_t const size = A.shape.slab();
  auto const make_x = [&](index_t k) {
    if (k < 0 || k >= A.shape.nz)
      std::fill(x[k], x[k] + size, R(0));
    else
      fill(k, x[k]);
  };
  auto const make_y = [&](index_t k) {
    if (k < 0 || k >= A.shape.nz)
      std::fill(y[k], y[k] + size, R(0));
    else
      product(k, x[k - 1], x[k], x[k + 1], y[k]);
  };
  make_x(2 * first - 2), make_x(2 * first - 1), make_x(2 * first), make_y(2 * first - 1);
  for (index_t K = first; K < last; ++K) {
    make_x(2 * K + 1), make_y(2 * K), make_x(2 * K + 2), make_y(2 * K + 1);
    restrict_slab(A, K, y, out + K * A.coarse.slab());
  }
}

} // namespace sla::detail
