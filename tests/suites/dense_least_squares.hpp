// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Problems of least squares, and their solutions by dense algebra.
#pragma once

#include <sla/tensor.hpp>

#include "suites/dense_oracle.hpp"

namespace suite {

/// Four entries in each row.
template <class T>
sla::sparse_tensor<T> rectangular(sla::index_t rows, sla::index_t cols) {
  std::vector<sla::index_t> i, j;
  std::vector<T> v;
  auto const values = sla::random<T>(rows * 4, 3);
  for (sla::index_t r = 0; r < rows; ++r)
    for (sla::index_t n = 0; n < 4; ++n) {
      i.push_back(r), j.push_back(n == 0 ? r % cols : (r * 31 + n * 17) % cols), v.push_back(T(n == 0 ? 3.0 : 0.5) * values[r * 4 + n]);
    }
  return sla::from_triplets<T>(rows, cols, i, j, v);
}
using oracle::dense_matrix;
template <class T>
using dense_vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
/// [A; damping].
template <class T>
dense_matrix<T> dense_of(sla::sparse_tensor<T> const& A, double damping = 0) {
  dense_matrix<T> dense = dense_matrix<T>::Zero(A.rows() + (damping > 0 ? A.cols() : 0), A.cols());
  for (sla::index_t i = 0; i < A.rows(); ++i) A.pattern().view().for_row(i, [&](sla::index_t s, sla::index_t j) { dense(i, j) += A.values()[s]; });
  if (damping > 0) dense.bottomRows(A.cols()).diagonal().setConstant(T(damping));
  return dense;
}
template <class T>
dense_vector<T> dense_of(sla::vector<T> const& b, sla::index_t rows) {
  dense_vector<T> out = dense_vector<T>::Zero(rows);
  for (sla::index_t k = 0; k < b.size(); ++k) out[k] = b[k];
  return out;
}
template <class T>
sla::vector<T> from_dense(dense_vector<T> const& x) {
  sla::vector<T> out(sla::index_t(x.size()));
  for (sla::index_t k = 0; k < out.size(); ++k) out[k] = x[k];
  return out;
}
/// The x of least |b - A x|^2 + damping^2 |x|^2, of them the shortest: in real numbers, where [Re A, -Im A; Im A, Re A] stands for A, as
/// Eigen's decomposition takes seconds to compile for each type.
template <class T>
sla::vector<T> by_orthogonal_factors(sla::sparse_tensor<T> const& A, sla::vector<T> const& b, double damping = 0) {
  auto const dense = dense_of(A, damping);
  auto const right = dense_of(b, dense.rows());
  auto const m = dense.rows(), n = dense.cols();
  constexpr int parts = sla::is_complex<T> ? 2 : 1;
  dense_matrix<double> M(parts * m, parts * n);
  dense_vector<double> r(parts * m);
  M.topLeftCorner(m, n) = dense.real().template cast<double>(), r.head(m) = right.real().template cast<double>();
  if constexpr (parts == 2) {
    M.bottomRightCorner(m, n) = dense.real().template cast<double>(), r.tail(m) = right.imag().template cast<double>();
    M.bottomLeftCorner(m, n) = dense.imag().template cast<double>(), M.topRightCorner(m, n) = -dense.imag().template cast<double>();
  }
  dense_vector<double> const x = oracle::least_squares(M, r);
  sla::vector<T> out(static_cast<sla::index_t>(n));
  for (sla::index_t k = 0; k < n; ++k)
    if constexpr (parts == 2)
      out[k] = T(sla::real_t<T>(x[k]), sla::real_t<T>(x[n + k]));
    else
      out[k] = T(x[k]);
  return out;
}

} // namespace suite
