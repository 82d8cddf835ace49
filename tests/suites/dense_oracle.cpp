// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What dense_oracle.hpp declares, by few of Eigen's decompositions: each takes seconds to compile.
#include "suites/dense_oracle.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

namespace oracle {
using Real = dense_matrix<double>;
using Complex = dense_matrix<std::complex<double>>;

template <class T>
hermitian_pairs<T> of_hermitian(dense_matrix<T> const& A) {
  Eigen::SelfAdjointEigenSolver<dense_matrix<T>> const solver(A);
  return {solver.eigenvalues(), solver.eigenvectors()};
}
template hermitian_pairs<double> of_hermitian(Real const&);
template hermitian_pairs<std::complex<double>> of_hermitian(Complex const&);

hermitian_pairs<double> of_hermitian(Real const& A, Real const& B) {
  Eigen::GeneralizedSelfAdjointEigenSolver<Real> const solver(A, B);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

template <class T>
Eigen::VectorXcd eigenvalues(dense_matrix<T> const& A) {
  return Eigen::ComplexEigenSolver<Complex>(Complex(A.template cast<std::complex<double>>()), false).eigenvalues();
}
template Eigen::VectorXcd eigenvalues(Real const&);
template Eigen::VectorXcd eigenvalues(Complex const&);

// [0 A; A^H 0] has the pairs of sigma and (u; v) / sqrt(2), and of -sigma and (u; -v) / sqrt(2).
template <class T>
singular_triplets<T> singular(dense_matrix<T> const& A) {
  auto const m = A.rows(), n = A.cols(), k = m < n ? m : n;
  dense_matrix<T> both = dense_matrix<T>::Zero(m + n, m + n);
  both.topRightCorner(m, n) = A, both.bottomLeftCorner(n, m) = A.adjoint();
  auto const pairs = of_hermitian<T>(both);
  singular_triplets<T> out{Eigen::VectorXd(k), dense_matrix<T>(m, k), dense_matrix<T>(n, k)};
  for (Eigen::Index j = 0; j < k; ++j) {
    out.values[j] = pairs.values[m + n - 1 - j];
    out.left.col(j) = pairs.vectors.col(m + n - 1 - j).head(m) * std::sqrt(2.0);
    out.right.col(j) = pairs.vectors.col(m + n - 1 - j).tail(n) * std::sqrt(2.0);
  }
  return out;
}
template singular_triplets<double> singular(Real const&);
template singular_triplets<std::complex<double>> singular(Complex const&);

template <class T>
dense_matrix<T> solution(dense_matrix<T> const& A, dense_matrix<T> const& b) {
  return A.partialPivLu().solve(b);
}
template Real solution(Real const&, Real const&);
template Complex solution(Complex const&, Complex const&);
template <class T>
dense_matrix<T> inverse(dense_matrix<T> const& A) {
  return solution<T>(A, dense_matrix<T>::Identity(A.rows(), A.cols()));
}
template Real inverse(Real const&);
template Complex inverse(Complex const&);
template <class T>
T determinant(dense_matrix<T> const& A) {
  return A.partialPivLu().determinant();
}
template double determinant(Real const&);
template std::complex<double> determinant(Complex const&);

Real least_squares(Real const& A, Real const& b) { return A.completeOrthogonalDecomposition().solve(b); }
} // namespace oracle
