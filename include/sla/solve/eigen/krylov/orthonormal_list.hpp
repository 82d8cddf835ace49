// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A list of orthonormal vectors that grows by one at a time, orthogonalised twice by classical Gram-Schmidt, and shrinks to combinations of
// its vectors: the bases of Krylov methods. One text for host, deferred queue and ranks.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/small_problem.hpp>
#include <sla/solve/seam/space.hpp>

namespace sla::detail {

/// 1 / |w|, or 0 where w is what rounding left of a vector with coefficients h + h2 in a basis.
template <class Real>
struct scale_of_next {
  Real rounding;
  template <class H, class R>
  SLA_HD Real operator()(H const& h, H const& h2, R ww) const {
    Real size = Real(real_of(ww));
    for (int j = 0; j < H::size(); ++j) size += Real(abs2_of(h[j] + h2[j]));
    bool const is_new = Real(real_of(ww)) > rounding * rounding * size;
    return is_new ? 1 / std::sqrt(Real(real_of(ww))) : Real(0);
  }
};

/// The inner product (x, y) of vectors, or (x, B y) with a Hermitian positive definite operator B.
struct plain_inner {
  static constexpr bool is_plain = true;
};
template <class B, class V>
struct weighted_inner {
  static constexpr bool is_plain = false;
  B const& b;
  V& image;  ///< for B y
};

/// V C, written to the first vectors of `out`, four at a time, so that V is read once for four. C is on the host.
template <int Capacity, class S, class V, class U>
void combine_columns(S& space, std::vector<V> const& basis, projected_matrix<U> const& C, std::vector<V>& out) {
  using K = kernel_t<U>;
  int const rows = int(C.rows()), columns = int(C.cols());
  auto const coefficients = [&](int j) {
    fixed_array<K, Capacity> h{};
    for (int i = 0; i < rows; ++i) h[i] = to_kernel(C(i, j));
    return space.scalar(std::vector<fixed_array<K, Capacity>>(std::size_t(space.items()), h));
  };
  auto const at = [&](int j) -> V& { return out[std::size_t(j)]; };
  while (int(out.size()) < columns) out.push_back(space.template like<typename V::value_type>(basis.front()));
  int j = 0;
  for (; j + 4 <= columns; j += 4) {
    auto const a = coefficients(j), b = coefficients(j + 1), c = coefficients(j + 2), d = coefficients(j + 3);
    fuse(space, set(at(j), combine(basis, rows, a)), set(at(j + 1), combine(basis, rows, b)), set(at(j + 2), combine(basis, rows, c)), set(at(j + 3), combine(basis, rows, d)));
  }
  for (; j < columns; ++j) {
    auto const a = coefficients(j);
    fuse(space, set(at(j), combine(basis, rows, a)));
  }
}

/// What is known of a vector that joined a list: its inner products with the others, h + h2; |w|^2 of what they left, and 1 / |w|, or 0 where that was nothing.
template <class H, class W, class R>
struct joined_vector {
  H h, h2;
  W ww;
  R scale;
};

/// Orthonormal vectors in the order of their making. `random(seed)` makes random ones, the same on any number of ranks.
template <int Capacity, class S, class V, class Inner, class Random>
class orthonormal_list {
public:
  using T = typename V::value_type;
  using U = user_t<accumulator_t<kernel_t<T>>>;
  using Real = real_t<accumulator_t<kernel_t<T>>>;
  static constexpr Real unit_rounding = Real(std::numeric_limits<real_t<kernel_t<T>>>::epsilon());

  orthonormal_list(S& space, Inner inner, Random random) : space_(space), inner_(std::move(inner)), random_(std::move(random)), w_(random_(0)) {
    vectors_.reserve(std::size_t(Capacity) + 1);
  }

  std::vector<V> const& vectors() const { return vectors_; }
  /// Room for the vector that is to join, and vector j.
  V& next() { return w_; }
  V& at(int j) {
    while (int(vectors_.size()) <= j) vectors_.push_back(space_.template like<T>(w_));
    return vectors_[std::size_t(j)];
  }
  /// Statements that set `next()`; what they leave beside the first `count` vectors becomes vector `count`, of length 1, or 0.
  template <class... Statement>
  auto join(int count, Statement&&... statement) {
    at(count);
    auto h = project(count, std::forward<Statement>(statement)...);
    auto h2 = project(count, set(w_, w_ - combine(vectors_, count, h)));
    auto ww = squared_length(set(w_, w_ - combine(vectors_, count, h2)));
    auto scale = space_.map(scale_of_next<Real>{64 * unit_rounding}, h, h2, ww);
    fuse(space_, set(at(count), scale * w_));
    return joined_vector<decltype(h), decltype(ww), decltype(scale)>{h, h2, ww, scale};
  }
  /// The numbers of `join`, after `finish`: the inner products with the first vectors, and the length of what they left.
  template <class Joined>
  std::pair<projected_column<U>, Real> read(int count, Joined const& joined) const {
    auto const h = space_.read(joined.h).front(), h2 = space_.read(joined.h2).front();
    Real const scale = space_.read(joined.scale).front();
    projected_column<U> out(count);
    for (int i = 0; i < count; ++i) out(i) = U(h[i] + h2[i]);
    if (!out.allFinite()) throw value_error("eigsh, eigs or svds: a product with A, or a solve with its factors, gave NaN or infinity");
    if constexpr (!Inner::is_plain)
      if (double const ww = double(real_of(space_.read(joined.ww).front())); ww < -1e-9 * double(out.squaredNorm() + std::abs(ww)))
        throw_not_definite("vector ", count, " of the basis, v, has (v, B v) = ", ww);
    return {std::move(out), scale == 0 ? Real(0) : 1 / scale};
  }
  /// A random vector becomes vector `count`.
  void join_random(int count) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      w_ = random_(++seed_);
      auto const joined = join(count);
      space_.finish();
      if (read(count, joined).second != 0) return;
    }
    throw value_error("eigsh, eigs or svds: no random vector is independent of the basis: of A v = w B v, B is singular or not definite; else ask for fewer pairs");
  }
  /// V Q in the place of the first vectors. The one behind them goes behind these.
  void contract(projected_matrix<U> const& Q) {
    combine_columns<Capacity>(space_, vectors_, Q, spare_);
    std::size_t const kept = std::size_t(Q.cols()), old = std::size_t(Q.rows());
    for (std::size_t j = 0; j < kept; ++j) std::swap(vectors_[j], spare_[j]);
    if (kept != old && old < vectors_.size()) std::swap(vectors_[kept], vectors_[old]);
  }
  /// V C; the list outlives the work for it.
  std::vector<V> combined(projected_matrix<U> const& C) {
    std::vector<V> out;
    combine_columns<Capacity>(space_, vectors_, C, out);
    return out;
  }

private:
  /// Statements, and then the inner products of the first `count` vectors with w.
  template <class... Statement>
  auto project(int count, Statement&&... statement) {
    auto const& w = w_;
    if constexpr (Inner::is_plain)
      return std::get<0>(fuse(space_, std::forward<Statement>(statement)..., dots<Capacity>(vectors_, count, w)));
    else
      return std::get<0>(fuse(space_, std::forward<Statement>(statement)..., set(inner_.image, inner_.b * w), dots<Capacity>(vectors_, count, inner_.image)));
  }
  template <class... Statement>
  auto squared_length(Statement&&... statement) {
    auto const& w = w_;
    if constexpr (Inner::is_plain)
      return std::get<0>(fuse(space_, std::forward<Statement>(statement)..., squared_norm_of(w)));
    else
      return std::get<0>(fuse(space_, std::forward<Statement>(statement)..., set(inner_.image, inner_.b * w), dot_of(w, inner_.image)));
  }
  S& space_;
  Inner inner_;
  Random random_;
  std::uint64_t seed_ = 0;
  V w_;
  std::vector<V> vectors_, spare_;
};

} // namespace sla::detail
