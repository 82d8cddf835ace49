// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of a cycle on a grid as nodes of `fuse`: A x, P^T (b - A x) after a step of Jacobi from zero, and a step of it after the
// correction. Rows of a pass are slabs; each node names the slabs of a block, since it computes those next to them too.
#pragma once

#include <algorithm>

#include <sla/solve/precond/amg/grid/slabs.hpp>

namespace sla::detail {

/// What the nodes share: elements of `points`, in slabs.
template <class R>
struct slab_node {
  using expression_tag = void;
  using value_type = R;
  using extents_type = Extents<dyn>;
  using memory_type = host_memory;
  static constexpr reach depth = reach::gather;

  grid_view<R> A;
  bool onto_coarse;

  grid_shape const& points() const { return onto_coarse ? A.coarse : A.shape; }
  extents_type extents() const { return extents_type(points().points()); }
  frame layout() const { return {1, points().nz, points().slab(), 1}; }
  /// Slabs of a block: many, so that few are computed twice, and enough blocks to share.
  index_t rows_at_once() const { return std::clamp(points().nz / 12, index_t(1), index_t(onto_coarse ? 8 : 32)); }
  template <class F>
  void reads(F&& f) const {
    for (int h = 0; h < A.shape.pairs; ++h) f(memory_access{A.off[h], A.shape.points() * index_t(sizeof(R)), true, false});
    f(memory_access{A.inverse, A.shape.points() * index_t(sizeof(R)), true, false});
  }
  /// f(first, last, where the whole vector would begin) for the slabs of a span, which are written from `out` on.
  template <class Span, class T, class F>
  void for_slabs(Span s, T* out, F const& f) const {
    index_t const size = points().slab();
    f(s.first / size, (s.first + s.count) / size, out - s.first);
  }
};

/// A x, for x with margins.
template <class R>
struct grid_product : slab_node<R> {
  R const* x;

  template <class F>
  grid_product rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    this->reads(f);
    f(memory_access{x, this->A.shape.points() * index_t(sizeof(R)), true, false});
  }
  template <class Span, class T>
  void store(Span s, T* from) const {
    index_t const size = this->A.shape.slab();
    this->for_slabs(s, from, [&](index_t k, index_t last, T* out) {
      for (; k < last; ++k) slab_product<true>(this->A, k, x + (k - 1) * size, x + k * size, x + (k + 1) * size, out + k * size);
    });
  }
};

/// P^T (b - A t) with t = omega D^-1 b. B: the scalars of b, which are divided by `scale`.
template <class R, class B>
struct grid_restricted : slab_node<R> {
  B const* b;
  B scale;

  template <class F>
  grid_restricted rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    this->reads(f);
    f(memory_access{b, this->A.shape.points() * index_t(sizeof(B)), true, false});
  }
  template <class Span, class T>
  void store(Span s, T* from) const {
    auto const& level = this->A;
    index_t const size = level.shape.slab();
    R const left = 1 - level.omega;
    B const inverse = 1 / scale;
    auto const fill = [&](index_t k, R* t) {
      R const* const d = level.inverse + k * size;
      B const* const f = b + k * size;
      SLA_INDEPENDENT
      for (index_t i = 0; i < size; ++i) t[i] = d[i] * R(f[i] * inverse);
    };
    auto const residual = [&](index_t k, R const* before, R const* t, R const* after, R* r) {
      slab_product<false>(level, k, before, t, after, r);
      B const* const f = b + k * size;
      SLA_INDEPENDENT
      for (index_t i = 0; i < size; ++i) r[i] = left * R(f[i] * inverse) - r[i];  // a_ii t_i = omega b_i
    };
    this->for_slabs(s, from, [&](index_t first, index_t last, T* out) { restricted_slabs(level, first, last, fill, residual, out); });
  }
};

/// x + omega D^-1 (b - A x) with x = omega D^-1 b + P e; times `factor`. b is divided by `scale`.
template <class R, class B, class Factor = B>
struct grid_corrected : slab_node<R> {
  B const* b;
  R const* e;
  B scale;
  Factor factor;

  template <class F>
  grid_corrected rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    this->reads(f);
    f(memory_access{b, this->A.shape.points() * index_t(sizeof(B)), true, false});
    f(memory_access{e, this->A.coarse.points() * index_t(sizeof(R)), true, false});
  }
  template <class Span, class T>
  void store(Span s, T* from) const {
    auto const& level = this->A;
    index_t const size = level.shape.slab();
    B const inverse = 1 / scale;
    this->for_slabs(s, from, [&](index_t k, index_t last, T* out) {
      slab_ring<R> x(level.shape);
      std::vector<R> product(static_cast<std::size_t>(size));
      auto const make = [&](index_t m) {
        if (m < 0 || m >= level.shape.nz) return std::fill(x[m], x[m] + size, R(0));
        R const* const d = level.inverse + m * size;
        B const* const f = b + m * size;
        interpolate_slab(level, m, e, [=](index_t i) { return d[i] * R(f[i] * inverse); }, x[m]);
      };
      make(k - 1), make(k);
      for (; k < last; ++k) {
        make(k + 1);
        slab_product<true>(level, k, x[k - 1], x[k], x[k + 1], product.data());
        R const *const d = level.inverse + k * size, *const at = x[k], *const y = product.data();
        B const* const f = b + k * size;
        T* const z = out + k * size;
        SLA_INDEPENDENT
        for (index_t i = 0; i < size; ++i) z[i] = T(at[i] + d[i] * (R(f[i] * inverse) - y[i])) * T(factor);
      }
    });
  }
};

} // namespace sla::detail
