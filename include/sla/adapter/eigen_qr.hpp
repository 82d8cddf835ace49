// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense QR with column pivots of Eigen's matrices, for least squares: what it is for is in solve/least_squares/dense_qr.hpp. It is written out
// here, as Eigen's own is no faster, for complex numbers five times slower, and has 1300 lines to read.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/Core>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/meta.hpp>
#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

/// Columns of numbers, as Eigen has them; of real factors a complex vector is two columns.
template <class Number>
using rhs_columns = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic>;

/// M P = Q R. Q is the product of reflectors I - t v v^H, whose v are 1 and what stands below R. With pivots the longest of the columns that are left
/// goes first: Golub and Van Loan, Matrix Computations, 5.4.1.
template <class Number>
struct reflected_columns {
  rhs_columns<Number> packed;
  std::vector<Number> t;
  std::vector<dependent_t<index_t, Number>> order;  ///< which column of M each of R is

  reflected_columns(rhs_columns<Number> M, bool by_pivots) : packed(std::move(M)) {
    index_t const cols = packed.cols(), count = (std::min)(index_t(packed.rows()), cols);
    std::vector<real_t<Number>> length(std::size_t(cols), 0.0);  // of what is left of each column
    for (index_t j = 0; j < cols; ++j) order.push_back(j), length[std::size_t(j)] = packed.col(j).norm();
    auto computed = length;
    for (index_t k = 0; k < count; ++k) {
      if (by_pivots) {
        index_t const first = std::max_element(length.begin() + k, length.end()) - length.begin();
        packed.col(k).swap(packed.col(first));
        std::swap(length[std::size_t(k)], length[std::size_t(first)]), std::swap(computed[std::size_t(k)], computed[std::size_t(first)]);
        std::swap(order[std::size_t(k)], order[std::size_t(first)]);
      }
      auto below = packed.col(k).tail(packed.rows() - k - 1);
      Number const c = packed(k, k);
      real_t<Number> const size = (std::real(c) > 0 ? -1 : 1) * packed.col(k).tail(packed.rows() - k).norm();
      t.push_back(size == 0 ? Number(0) : Eigen::numext::conj((size - c) / size));
      if (size != 0) below /= c - size, packed(k, k) = size;
      for (index_t j = k + 1; j < cols; ++j) {
        reflect(k, t.back(), packed, j);
        auto& of_j = length[std::size_t(j)];
        auto const part = of_j == 0 ? 0 : (std::min)(std::abs(packed(k, j)) / of_j, real_t<Number>(1)), rest = (1 - part) * (1 + part), loss = of_j / computed[std::size_t(j)];
        if (rest * loss * loss <= 1.5e-8)  // half of the digits: anew
          of_j = computed[std::size_t(j)] = packed.col(j).tail(packed.rows() - k - 1).norm();
        else
          of_j *= std::sqrt(rest);
      }
    }
  }
  /// Column j of X times the k-th reflector of that t.
  void reflect(index_t k, Number s, rhs_columns<Number>& X, index_t j) const {
    index_t const below = packed.rows() - k - 1;
    auto const v = packed.col(k).tail(below);
    auto x = X.col(j).tail(below);
    s *= X(k, j) + v.dot(x);
    X(k, j) -= s, x -= s * v;
  }
  /// X becomes Q^H X.
  void multiply_adjoint(rhs_columns<Number>& X) const {
    for (index_t j = 0; j < X.cols(); ++j)
      for (index_t k = 0; k < index_t(t.size()); ++k) reflect(k, t[std::size_t(k)], X, j);
  }
  /// X becomes Q X.
  void multiply(rhs_columns<Number>& X) const {
    for (index_t j = 0; j < X.cols(); ++j)
      for (index_t k = index_t(t.size()) - 1; k >= 0; --k) reflect(k, Eigen::numext::conj(t[std::size_t(k)]), X, j);
  }
  /// How many numbers of the diagonal of R are no rounding.
  index_t rank() const {
    using Real = real_t<Number>;
    Real most = 0;
    for (std::size_t k = 0; k < t.size(); ++k) most = (std::max)(most, std::abs(packed(k, k)));
    index_t out = 0;
    for (std::size_t k = 0; k < t.size(); ++k) out += std::abs(packed(k, k)) > Real(t.size()) * std::numeric_limits<Real>::epsilon() * most;
    return out;
  }
};

/// The complete orthogonal decomposition of a dense matrix, A P = Q (T 0; 0 0) Z^H, with Z where the rank is less than the columns: A^+ and A^+^H.
template <class Number>
struct dense_factors {
  using matrix = rhs_columns<Number>;

  explicit dense_factors(matrix const& A) : left_(A, true), rank_(left_.rank()) {
    if (rank_ < A.cols()) right_.emplace(matrix(matrix(left_.packed.topRows(rank_).template triangularView<Eigen::Upper>()).adjoint()), false);
  }

  matrix solve(matrix right) const {
    left_.multiply_adjoint(right);
    matrix y = matrix::Zero(left_.packed.cols(), right.cols()), out = y;
    y.topRows(rank_) = right.topRows(rank_);
    auto top = y.topRows(rank_);
    if (right_)
      triangle().adjoint().solveInPlace(top), right_->multiply(y);
    else
      triangle().solveInPlace(top);
    for (index_t j = 0; j < y.rows(); ++j) out.row(left_.order[std::size_t(j)]) = y.row(j);
    return out;
  }
  matrix solve_adjoint(matrix const& right) const {
    matrix y(right.rows(), right.cols()), out = matrix::Zero(left_.packed.rows(), right.cols());
    for (index_t j = 0; j < y.rows(); ++j) y.row(j) = right.row(left_.order[std::size_t(j)]);
    auto top = y.topRows(rank_);
    if (right_)
      right_->multiply_adjoint(y), triangle().solveInPlace(top);
    else
      triangle().adjoint().solveInPlace(top);
    out.topRows(rank_) = top;
    left_.multiply(out);
    return out;
  }
  std::string remark(index_t cols) const { return rank_ < cols ? text("rank ", rank_, " of ", cols, " columns: the shortest x") : std::string(); }

private:
  /// T, or T^H where there is Z.
  auto triangle() const { return (right_ ? right_->packed : left_.packed).topLeftCorner(rank_, rank_).template triangularView<Eigen::Upper>(); }
  reflected_columns<Number> left_;
  index_t rank_;
  std::optional<reflected_columns<Number>> right_;
};

} // namespace sla::detail
