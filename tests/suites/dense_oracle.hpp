// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigen's dense decompositions as the oracles of tests: compiled once, optimised and without sanitizers, in dense_oracle.cpp.
#pragma once

#include <complex>

#include <Eigen/Core>

namespace oracle {
template <class T>
using dense_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Values in ascending order, and vectors that are orthonormal (in the inner product of B).
template <class T>
struct hermitian_pairs {
  Eigen::VectorXd values;
  dense_matrix<T> vectors;
};
/// A = U diag(values) V^H, values in descending order, with as many columns as A has the fewer.
template <class T>
struct singular_triplets {
  Eigen::VectorXd values;
  dense_matrix<T> left, right;
};

// T is double or std::complex<double>.
/// The pairs of A x = lambda x, A Hermitian; and of A x = lambda B x.
template <class T>
hermitian_pairs<T> of_hermitian(dense_matrix<T> const& A);
hermitian_pairs<double> of_hermitian(dense_matrix<double> const& A, dense_matrix<double> const& B);
/// All eigenvalues of A, in no order.
template <class T>
Eigen::VectorXcd eigenvalues(dense_matrix<T> const& A);
template <class T>
singular_triplets<T> singular(dense_matrix<T> const& A);
template <class T>
dense_matrix<T> inverse(dense_matrix<T> const& A);
template <class T>
T determinant(dense_matrix<T> const& A);
/// A x = b by row pivoting.
template <class T>
dense_matrix<T> solution(dense_matrix<T> const& A, dense_matrix<T> const& b);
/// The x of least norm of those of least |A x - b|.
dense_matrix<double> least_squares(dense_matrix<double> const& A, dense_matrix<double> const& b);
} // namespace oracle
