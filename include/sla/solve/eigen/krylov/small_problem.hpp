// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small dense eigenproblems of Krylov methods, in the order of what is wanted: the spectral decomposition of a Hermitian H, and the real or complex Schur
// form of any H, whose blocks are exchanged (Bai and Demmel 1993).
#pragma once

#include <algorithm>
#include <complex>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/solve/eigen/krylov/small_dense.hpp>

namespace sla::detail {

/// Small dense matrices and vectors on the host: projected operators.
template <class U>
using projected_matrix = small_dense<U>;
template <class U>
using projected_column = Eigen::Matrix<U, Eigen::Dynamic, 1>;

/// Eigenpairs of a Hermitian H, those with a small key first. `b` couples H to what is not in it: |b^H y| is what a pair leaves.
template <class U>
class hermitian_problem {
public:
  using value_type = real_t<U>;
  using matrix_type = projected_matrix<U>;

  /// The first `known` are asked for; of a Hermitian H all are known.
  template <class Key>
  hermitian_problem(matrix_type const& H, projected_column<U> const& b, Key const& key, int)
      : pairs_(eigenpairs_of<U>((H + H.adjoint()) / value_type(2))), b_(b) {
    for (int j = 0; j < int(H.rows()); ++j) order_.push_back(j);
    std::stable_sort(order_.begin(), order_.end(), [&](int i, int j) { return key(pairs_.values(i)) < key(pairs_.values(j)); });
  }
  value_type value(int j) const { return pairs_.values(order_[std::size_t(j)]); }
  double coupling(int j) const { return double(std::abs(b_.dot(pairs_.vectors.col(order_[std::size_t(j)])))); }
  /// An orthonormal basis of the invariant subspace of the first `count` values; of one more, where these belong together.
  matrix_type basis(int count) const {
    matrix_type q(b_.size(), count);
    for (int j = 0; j < count; ++j) q.col(j) = pairs_.vectors.col(order_[std::size_t(j)]);
    return q;
  }
  matrix_type vectors(int count) const { return basis(count); }
  /// |b^H Q| of that basis.
  double coupling_of_basis(int count) const { return double((basis(count).adjoint() * b_).norm()); }

private:
  hermitian_pairs<U> pairs_;
  projected_column<U> b_;
  std::vector<int> order_;
};

/// The Schur form H = Q T Q^H, with blocks of one real or complex value, or of a pair, in the order of their keys.
template <class U>
class schur_problem {
public:
  using value_type = std::complex<real_t<U>>;
  using matrix_type = projected_matrix<U>;

  /// Eigenvectors of the first `known` values are made.
  template <class Key>
  schur_problem(matrix_type const& H, projected_column<U> const& b, Key const& key, int known) {
    if (!schur_form<U>(H, T_, Q_)) throw error("eigs: the Schur form of the projected matrix was not found");
    int const n = int(T_.rows());
    auto const key_at = [&](int i) { return key(values_of_block<U>(T_, i).front()); };
    for (int i = 0; i < n; i += block_at(i)) {
      int best = i;
      for (int j = i; j < n; j += block_at(j))
        if (key_at(j) < key_at(best)) best = j;
      while (best > i) {
        int before = i;
        while (before + block_at(before) < best) before += block_at(before);
        exchange(before, block_at(before), block_at(best));
        best = before;
      }
    }
    for (int i = 0; i < n; i += block_at(i))
      for (value_type const v : values_of_block<U>(T_, i)) values_.push_back(v);
    b_ = Q_.adjoint() * b;
    int const top = whole_blocks((std::min)(known, n));
    vectors_.resize(top, top);
    matrix_type const first = T_.topLeftCorner(top, top);
    for (int i = 0; i < top; i += block_at(i))
      for (int j = i; j < i + block_at(i); ++j) vectors_.col(j) = eigenvector_of_schur<U>(first, i, value(j));
  }
  value_type value(int j) const { return values_[std::size_t(j)]; }
  double coupling(int j) const { return double(std::abs(b_.head(vectors_.rows()).template cast<value_type>().dot(vectors_.col(j)))); }
  matrix_type basis(int count) const { return Q_.leftCols(whole_blocks(count)); }
  /// |b^H Q| of that basis: more than of its eigenvectors, where these are nearly parallel.
  double coupling_of_basis(int count) const { return double(b_.head(whole_blocks(count)).norm()); }
  projected_matrix<value_type> vectors(int count) const {
    matrix_type const Q = Q_.leftCols(vectors_.rows());
    if constexpr (is_complex<U>) {
      return dense_product<U>(Q, vectors_.leftCols(count));
    } else {
      projected_matrix<value_type> out(Q.rows(), count);
      out.real() = dense_product<U>(Q, vectors_.leftCols(count).real());
      out.imag() = dense_product<U>(Q, vectors_.leftCols(count).imag());
      return out;
    }
  }

private:
  int block_at(int i) const { return int(detail::block_at<U>(T_, i)); }
  int whole_blocks(int count) const { return count > 0 && count < int(T_.rows()) && T_(count, count - 1) != U(0) ? count + 1 : count; }
  /// The block of p rows from i on and that of q rows below it change places.
  void exchange(int i, int p, int q) {
    if (p == 1 && q == 1) {
      Eigen::JacobiRotation<U> turn;
      turn.makeGivens(T_(i, i + 1), T_(i + 1, i + 1) - T_(i, i));
      T_.applyOnTheLeft(i, i + 1, turn.adjoint());
      T_.applyOnTheRight(i, i + 1, turn);
      Q_.applyOnTheRight(i, i + 1, turn);
      T_(i + 1, i) = U(0);
      return;
    }
    int const m = p + q;
    matrix_type const upper = T_.block(i, i, p, p), lower = T_.block(i + p, i + p, q, q), beside = T_.block(i, i + p, p, q);
    matrix_type sylvester = matrix_type::Zero(p * q, p * q);  // upper X - X lower = beside, column by column
    matrix_type right(p * q, 1);
    for (int c = 0; c < q; ++c) {
      for (int r = 0; r < p; ++r) {
        right(c * p + r, 0) = beside(r, c);
        for (int s = 0; s < p; ++s) sylvester(c * p + r, c * p + s) += upper(r, s);
        for (int d = 0; d < q; ++d) sylvester(c * p + r, d * p + r) -= lower(d, c);
      }
    }
    matrix_type const x = solved<U>(sylvester, right, rounding_of(T_));
    matrix_type subspace = matrix_type::Zero(m, q);  // that of the lower block: the columns of (-X; I)
    for (int c = 0; c < q; ++c) {
      for (int r = 0; r < p; ++r) subspace(r, c) = -x(c * p + r, 0);
      subspace(p + c, c) = U(1);
    }
    for (int c = 0; c < q; ++c)  // rotations make it triangular: then the first q vectors of the new basis span it
      for (int r = m - 1; r > c; --r) {
        Eigen::JacobiRotation<U> turn;
        turn.makeGivens(subspace(r - 1, c), subspace(r, c));
        subspace.applyOnTheLeft(r - 1, r, turn.adjoint());
        T_.applyOnTheLeft(i + r - 1, i + r, turn.adjoint());
        T_.applyOnTheRight(i + r - 1, i + r, turn);
        Q_.applyOnTheRight(i + r - 1, i + r, turn);
      }
    T_.block(i + q, i, p, q).setZero();
  }
  matrix_type T_, Q_;
  projected_column<U> b_;
  std::vector<value_type> values_;
  projected_matrix<value_type> vectors_;
};

} // namespace sla::detail
