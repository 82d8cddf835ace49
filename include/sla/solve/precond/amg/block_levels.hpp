// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels of blocks for a Hermitian matrix of blocks (Vanek, Mandel and Brezina 1996): aggregates of nodes, prolongations and Galerkin products
// block by block, which find a column for a block of numbers; in the scalars of A until they are rounded.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/blocks/block_cycle.hpp>
#include <sla/solve/precond/amg/coarsest.hpp>
#include <sla/solve/precond/amg/nodes.hpp>
#include <sla/solve/precond/amg/sums.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla::detail {

/// What look_at_rows sees in rows of blocks.
template <class T, index_t B>
amg_rows<T> look_at_blocks(block_matrix<T, B, B> const& A, amg_smoother const& smoother, int level) {
  auto const each = [view = A.pattern().view(), a = A.values().data()](index_t i, auto const& f) {
    view.for_row(i / B, [&, row = i % B](index_t s, index_t j) {
      for (index_t c = 0; c < B; ++c) f(j * B + c, a[s * B * B + row * B + c]);
    });
  };
  return look_at<T>(A.rows() * B, each, smoother, level);
}

/// factor A in the numbers R.
template <class R, class T, class S>
sparse_tensor<R, S, Csr<std::int32_t>> rounded(sparse_tensor<T, S, Csr<std::int32_t>> const& A, double factor) {
  buffer<R> values(A.values().size(), uninitialized);
  parallel_ranges(values.size(), [&, a = A.values().data(), to = values.data()](index_t lo, index_t hi) {
    for (index_t s = lo; s < hi; ++s) to[s] = R(double(a[s]) * factor);
  });
  return {A.shape(), A.shared_pattern(), std::move(values)};
}

/// The level of A, into `level`, and the matrix of the next one; nothing, where A is the last, which is inverted where it is small.
template <class R, index_t B, index_t K, class T, class Levels>
std::optional<block_matrix<T, K, K>> add_block_level(amg_options const& o, block_matrix<T, B, B> const& A, node_coarsener<T>& coarsener, Levels& all, block_level<R, B, K>& level, amg_rows<T> const& seen, int l) {
  index_t const n = A.rows() * B;
  level.A = rounded<R>(A, 1 / all.scale);
  level.smoother = buffer<R>(n, uninitialized);
  for (index_t i = 0; i < n; ++i) level.smoother[i] = R(double(seen.smoother[i]) * all.scale);
  if (n > o.coarsest && l + 1 < o.max_levels) {
    auto const P = coarsener.template next_blocks<K, B>(A, l);
    index_t const coarse = P.cols() * K;
    if (coarse > 0 && 10 * coarse <= 8 * n) {
      auto const restriction = adjointed(P);
      level.P = rounded<R>(P, 1), level.R_ = rounded<R>(restriction, 1);
      return multiplied(restriction, multiplied(A, P));
    }
  }
  if (n <= (std::max)(o.coarsest, amg_most_dense_rows)) {
    std::vector<double> dense(std::size_t(n * n));
    for (index_t v = 0; v < A.rows(); ++v)
      A.pattern().view().for_row(v, [&](index_t s, index_t j) {
        for (index_t e = 0; e < B * B; ++e) dense[std::size_t((v * B + e / B) * n + j * B + e % B)] = double(A.values()[s * B * B + e]) / all.scale;
      });
    invert_regular_part(dense, n);
    all.inverse = std::move(dense);
  }
  return {};
}

/// Levels for A, whose modes are K for each aggregate. None, where the numbers R do not reach from the least rows of A to its largest.
template <class R, index_t K, class Number, class T, index_t B>
std::shared_ptr<block_cycle<Number> const> block_levels_of(amg_options const& o, block_matrix<T, B, B> const& A, node_coarsener<T>& coarsener) {
  auto all = detail::shared_of<block_levels<R, B, K, Number>>();
  auto seen = look_at_blocks<T, B>(A, o.smoother, 0);
  double const size = double(seen.norm);
  if (!(size * double(norm_inf(seen.smoother)) <= 1e24)) return {};
  if (size > 0) all->scale = std::ldexp(1.0, std::ilogb(size));
  all->sweeps = o.sweeps;
  auto next = add_block_level(o, A, coarsener, *all, all->finest, seen, 0);
  for (int l = 1; next; ++l) {
    auto const coarse = std::move(*next);
    all->coarser.emplace_back();
    next = add_block_level(o, coarse, coarsener, *all, all->coarser.back(), look_at_blocks<T, K>(coarse, o.smoother, l), l);
  }
  return all;
}

/// Are levels of blocks for these options, and for so many rows? Others have levels of numbers.
inline bool wants_blocks(amg_options const& o, index_t rows) {
  return rows >= least_grid_points && !o.on_device && !o.coarse_only && o.cycle == amg_cycle::V && !o.smoother.maker() && (o.coarsening == amg_coarsening::automatic || o.coarsening == amg_coarsening::smoothed || o.coarsening == amg_coarsening::plain);
}
/// The same for modes as many as there are: those of a constant per unknown, or the rigid motions of the plane and of space; none for others, and where A is not Hermitian.
template <class R, class Number, class T, index_t B>
std::shared_ptr<block_cycle<Number> const> block_levels_of(amg_options const& o, block_matrix<T, B, B> const& A) {
  if (!is_hermitian(A)) return {};
  auto const made = static_cast<amg_makes_coarseners<T> const&>(*o.coarsener).begin(o, A.rows() * B, std::type_identity<T>{});
  auto& coarsener = static_cast<node_coarsener<T>&>(*made);
  if (coarsener.modes() == B) return block_levels_of<R, B, Number>(o, A, coarsener);
  if constexpr (B == 2 || B == 3)
    if (constexpr index_t rigid = B * (B + 1) / 2; coarsener.modes() == rigid) return block_levels_of<R, rigid, Number>(o, A, coarsener);
  return {};
}

} // namespace sla::detail
