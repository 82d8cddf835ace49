// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dense QR by Eigen, for least squares: its CompleteOrthogonalDecomposition. The only file that includes it; what it is for is in
// solve/least_squares/dense_qr.hpp.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/Core>
#if EIGEN_VERSION_AT_LEAST(3, 4, 90) // its headers are read by modules alone
#include <Eigen/QR>
#else // the module reads the other kinds of QR too, and Cholesky
#include <Eigen/Householder>

#include <Eigen/src/Core/util/DisableStupidWarnings.h>
#include <Eigen/src/QR/ColPivHouseholderQR.h>
#include <Eigen/src/QR/CompleteOrthogonalDecomposition.h>

#include <Eigen/src/Core/util/ReenableStupidWarnings.h>
#endif

#include <string>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

/// Columns of numbers, as Eigen has them; of real factors a complex vector is two columns.
template <class Number>
using rhs_columns = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic>;
/// The complete orthogonal decomposition of a dense matrix: A^+ and A^+^H.
template <class Number>
struct dense_factors {
  explicit dense_factors(rhs_columns<Number> const& A) : rows_(A.rows()), cols_(A.cols()) {
    if (A.size() > 0) qr_.compute(A);
  }

  rhs_columns<Number> solve(rhs_columns<Number> const& right) const {
    if (rows_ * cols_ == 0) return rhs_columns<Number>::Zero(cols_, right.cols());
    return qr_.solve(right);
  }
  rhs_columns<Number> solve_adjoint(rhs_columns<Number> const& right) const {
    if (rows_ * cols_ == 0) return rhs_columns<Number>::Zero(rows_, right.cols());
    return qr_.adjoint().solve(right);
  }
  std::string remark(index_t cols) const {
    index_t const rank = rows_ * cols_ == 0 ? 0 : index_t(qr_.rank());
    return rank < cols ? text("rank ", rank, " of ", cols, " columns: the shortest x") : std::string();
  }

private:
  index_t rows_, cols_;
  Eigen::CompleteOrthogonalDecomposition<rhs_columns<Number>> qr_;
};

} // namespace sla::detail
