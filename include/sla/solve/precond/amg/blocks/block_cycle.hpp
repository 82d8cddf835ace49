// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels of systems as matrices of blocks, one column for a block of numbers, in float under a method in double; and the V-cycle over them.
// Other cycles and smoothers have levels of numbers (solve/precond/amg/level.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sla/core/guarded.hpp>
#include <sla/exec/fuse.hpp>
#include <sla/exec/host.hpp>
#include <sla/expr/dense/ops.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/solve/precond/amg/amli/amli.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla::detail {

/// A matrix of blocks of P x Q numbers, each row's columns ascending.
template <class T, index_t P, index_t Q>
using block_matrix = sparse_tensor<T, Shape<Batch<>, dyn, dyn, Block<P, Q>>, Csr<std::int32_t>>;

/// The cycle as amg knows it, whatever its blocks are. Number: the scalars of b and z.
template <class Number>
class block_cycle {
public:
  virtual ~block_cycle() = default;
  /// z = M b.
  virtual void apply(Number const* b, Number* z) const = 0;
  /// The rows and the entries of each level, those of blocks one by one.
  virtual std::vector<std::array<index_t, 2>> sizes() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual bool in_float() const = 0;
  virtual bool inverts_last() const = 0;
};

/// n blocks of B numbers at p.
template <index_t B, class R>
auto blocks_at(R const* p, index_t n) {
  return tensor_view<R, Extents<dyn, B>, host_memory>{p, Extents<dyn, B>(n, B)};
}

/// The matrix of a level with the weights of its smoother and, but on the last level, prolongation and restriction. B numbers in a row of blocks, K on the next level.
template <class R, index_t B, index_t K>
struct block_level {
  block_matrix<R, B, B> A;
  buffer<R> smoother;
  block_matrix<R, B, K> P = {};
  block_matrix<R, K, B> R_ = {};

  index_t rows() const { return A.rows() * B; }
  std::size_t bytes() const { return A.bytes() + smoother.bytes() + P.bytes() + R_.bytes(); }
};

/// All levels, of which the finest may have other blocks. A is divided by a power of 2, so that float holds what comes up.
template <class R, index_t B, index_t K, class Number>
class block_levels final : public block_cycle<Number> {
public:
  int sweeps = 1;
  double scale = 1;
  block_level<R, B, K> finest;
  std::vector<block_level<R, K, K>> coarser = {};
  std::vector<double> inverse = {};  ///< of the last level, or nothing, where smoothing has to do

  std::size_t count() const { return 1 + coarser.size(); }
  template <class F>
  decltype(auto) with_level(std::size_t l, F const& f) const {
    return l == 0 ? f(finest) : f(coarser[l - 1]);
  }

  void apply(Number const* b, Number* z) const override {
    idle_.with(*this, [&](auto& work) {
      auto space = immediate_space(dependent_t<host_memory, R>{});
      index_t const n = finest.rows();
      auto const largest = real_t<Number>(norm_inf(numbers_at(b, n)));
      Number const size = largest > 0 && std::isfinite(largest) ? (std::max)(largest, (std::numeric_limits<Number>::min)()) : Number(1);
      auto& [f, x, y] = work.levels[0];
      fuse(space, put_at(f.data(), n, 1 / size * numbers_at(b, n)));
      cycle_from(space, work, 0, f.data(), x.data());
      fuse(space, put_at(z, n, size * (Number(1 / scale) * numbers_at(std::as_const(x).data(), n))));
    });
  }
  std::vector<std::array<index_t, 2>> sizes() const override {
    std::vector<std::array<index_t, 2>> out;
    for (std::size_t l = 0; l < count(); ++l)
      with_level(l, [&](auto const& level) { out.push_back({level.rows(), level.A.nnz() * level.A.block_size}); });
    return out;
  }
  std::size_t bytes() const override {
    std::size_t sum = finest.bytes() + inverse.size() * sizeof(double);
    for (auto const& level : coarser) sum += level.bytes();
    return sum;
  }
  bool in_float() const override { return std::same_as<R, float>; }
  bool inverts_last() const override { return !inverse.empty(); }

private:
  /// Right-hand side, correction and a spare vector of each level.
  struct work_vectors {
    std::vector<std::array<buffer<R>, 3>> levels;

    explicit work_vectors(block_levels const& all) {
      for (std::size_t l = 0; l < all.count(); ++l)
        all.with_level(l, [&](auto const& level) { levels.push_back({buffer<R>(level.rows(), uninitialized), buffer<R>(level.rows(), uninitialized), buffer<R>(level.rows(), uninitialized)}); });
    }
  };

  /// z = M b on level l and below: as many sweeps of the smoother before the correction as after it.
  template <class Space>
  void cycle_from(Space& space, work_vectors& work, std::size_t l, R const* b, R* z) const {
    with_level(l, [&]<index_t P, index_t Q>(block_level<R, P, Q> const& level) {
      index_t const rows = level.A.rows(), n = level.rows();
      bool const last = l + 1 == count();
      if (last && !inverse.empty()) {
        for (index_t i = 0; i < n; ++i) {
          double sum = 0;
          for (index_t j = 0; j < n; ++j) sum += inverse[std::size_t(i * n + j)] * double(b[j]);
          z[i] = R(sum);
        }
        return;
      }
      auto const of = [&](R const* p) { return blocks_at<P>(p, rows); };
      auto const put = [&](R* to, auto const& value) { return put_at(to, n, value); };
      R *x = work.levels[l][2].data(), *y = z;
      auto const d = of(level.smoother.data()), rhs = of(b);
      auto const smooth = [&] {
        fuse(space, put(y, level.A * of(x)), put(y, of(x) + d * (rhs - of(y))));
        std::swap(x, y);
      };
      fuse(space, put(x, d * rhs));
      for (int k = 1; k < sweeps; ++k) smooth();
      if (!last) {
        R *const cb = work.levels[l + 1][0].data(), *const cx = work.levels[l + 1][1].data();
        index_t const coarse = level.P.cols();
        fuse(space, put(y, level.A * of(x)), put(y, rhs - of(y)), put_at(cb, coarse * Q, level.R_ * of(y)));
        cycle_from(space, work, l + 1, cb, cx);
        fuse(space, put(y, level.P * blocks_at<Q>(static_cast<R const*>(cx), coarse)), put(x, of(x) + of(y)));
      }
      for (int k = 0; k < sweeps; ++k) smooth();
      if (x != z) fuse(space, put(z, of(x)));
    });
  }

  idle_work<work_vectors> idle_;
};

} // namespace sla::detail
