// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small dense eigenproblems of Krylov methods, in the order of what is wanted: the spectral decomposition of a Hermitian H, and the real or complex Schur
// form of any H, whose blocks are exchanged (Bai and Demmel 1993).
#pragma once

#include <algorithm>
#include <complex>
#include <vector>

#include <Eigen/Eigenvalues>

#include <sla/core/error.hpp>
#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

/// Small dense matrices and vectors on the host: projected operators.
template <class U>
using projected_matrix = Eigen::Matrix<U, Eigen::Dynamic, Eigen::Dynamic>;
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
      : solver_((H + H.adjoint()) / value_type(2)), b_(b) {
    for (int j = 0; j < int(H.rows()); ++j) order_.push_back(j);
    std::stable_sort(order_.begin(), order_.end(), [&](int i, int j) { return key(solver_.eigenvalues()(i)) < key(solver_.eigenvalues()(j)); });
  }
  value_type value(int j) const { return solver_.eigenvalues()(order_[std::size_t(j)]); }
  double coupling(int j) const { return double(std::abs(b_.dot(solver_.eigenvectors().col(order_[std::size_t(j)])))); }
  /// An orthonormal basis of the invariant subspace of the first `count` values; of one more, where these belong together.
  matrix_type basis(int count) const {
    matrix_type q(b_.size(), count);
    for (int j = 0; j < count; ++j) q.col(j) = solver_.eigenvectors().col(order_[std::size_t(j)]);
    return q;
  }
  matrix_type vectors(int count) const { return basis(count); }
  /// |b^H Q| of that basis.
  double coupling_of_basis(int count) const { return double((basis(count).adjoint() * b_).norm()); }

private:
  Eigen::SelfAdjointEigenSolver<matrix_type> solver_;
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
    using Schur = std::conditional_t<is_complex<U>, Eigen::ComplexSchur<matrix_type>, Eigen::RealSchur<projected_matrix<real_t<U>>>>;
    Schur schur;
    schur.setMaxIterations(100 * (std::max)(index_t(1), index_t(H.rows())));
    schur.compute(H);
    if (schur.info() != Eigen::Success) throw error("eigs: the Schur form of the projected matrix was not found");
    T_ = schur.matrixT(), Q_ = schur.matrixU();
    int const n = int(T_.rows());
    auto const key_at = [&](int i) { return key(values_of_block(i).front()); };
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
      for (value_type const v : values_of_block(i)) values_.push_back(v);
    b_ = Q_.adjoint() * b;
    int const top = whole_blocks((std::min)(known, n));
    Eigen::ComplexEigenSolver<projected_matrix<value_type>> const solver(T_.topLeftCorner(top, top).template cast<value_type>());
    vectors_ = projected_matrix<value_type>::Zero(top, top);
    std::vector<bool> taken(std::size_t(top), false);
    for (int j = 0; j < top; ++j) {  // by the values of the blocks, which are in order
      int nearest = -1;
      for (int i = 0; i < top; ++i)
        if (!taken[std::size_t(i)] && (nearest < 0 || std::abs(solver.eigenvalues()(i) - value(j)) < std::abs(solver.eigenvalues()(nearest) - value(j)))) nearest = i;
      taken[std::size_t(nearest)] = true;
      vectors_.col(j) = solver.eigenvectors().col(nearest);
    }
  }
  value_type value(int j) const { return values_[std::size_t(j)]; }
  double coupling(int j) const { return double(std::abs(b_.head(vectors_.rows()).template cast<value_type>().dot(vectors_.col(j)))); }
  matrix_type basis(int count) const { return Q_.leftCols(whole_blocks(count)); }
  /// |b^H Q| of that basis: more than of its eigenvectors, where these are nearly parallel.
  double coupling_of_basis(int count) const { return double(b_.head(whole_blocks(count)).norm()); }
  projected_matrix<value_type> vectors(int count) const { return Q_.leftCols(vectors_.rows()).template cast<value_type>() * vectors_.leftCols(count); }

private:
  int block_at(int i) const { return i + 1 < int(T_.rows()) && T_(i + 1, i) != U(0) ? 2 : 1; }
  int whole_blocks(int count) const { return count > 0 && count < int(T_.rows()) && T_(count, count - 1) != U(0) ? count + 1 : count; }
  std::vector<value_type> values_of_block(int i) const {
    if (block_at(i) == 1) return {value_type(T_(i, i))};
    value_type const half = value_type(T_(i, i) + T_(i + 1, i + 1)) / real_t<U>(2), apart = value_type(T_(i, i) - T_(i + 1, i + 1)) / real_t<U>(2);
    value_type const root = std::sqrt(apart * apart + value_type(T_(i, i + 1) * T_(i + 1, i)));
    return {half + root, half - root};
  }
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
    projected_column<U> right(p * q);
    for (int c = 0; c < q; ++c) {
      sylvester.block(c * p, c * p, p, p) += upper;
      for (int d = 0; d < q; ++d) sylvester.block(c * p, d * p, p, p) -= lower(d, c) * matrix_type::Identity(p, p);
      right.segment(c * p, p) = beside.col(c);
    }
    projected_column<U> const x = sylvester.fullPivLu().solve(right);
    matrix_type subspace(m, q);  // that of the lower block: the columns of (-X; I)
    for (int c = 0; c < q; ++c) subspace.col(c).head(p) = -x.segment(c * p, p);
    subspace.bottomRows(q).setIdentity();
    Eigen::HouseholderQR<matrix_type> const qr(subspace);
    matrix_type const turn = qr.householderQ() * matrix_type::Identity(m, m);
    T_.middleRows(i, m) = (turn.adjoint() * T_.middleRows(i, m)).eval();
    T_.middleCols(i, m) = (T_.middleCols(i, m) * turn).eval();
    Q_.middleCols(i, m) = (Q_.middleCols(i, m) * turn).eval();
    T_.block(i + q, i, p, q).setZero();
  }
  matrix_type T_, Q_;
  projected_column<U> b_;
  std::vector<value_type> values_;
  projected_matrix<value_type> vectors_;
};

} // namespace sla::detail
