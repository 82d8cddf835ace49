// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small dense algebra of eigenvalues on the host, by Eigen, in double and complex<double> alone. What is slow to compile is asked for here
// once, of whole matrices: each other kind of expression in a product or a decomposition would be compiled anew.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/Core>
#if EIGEN_VERSION_AT_LEAST(3, 4, 90) // its headers are read by modules alone
#include <Eigen/Eigenvalues>
#else // the module reads geometry, LU, QR and SVD, which takes as long as all else here
#include <Eigen/Householder>
#include <Eigen/Jacobi>

#include <Eigen/src/Core/util/DisableStupidWarnings.h>
#include <Eigen/src/Eigenvalues/ComplexSchur.h>
#include <Eigen/src/Eigenvalues/HessenbergDecomposition.h>
#include <Eigen/src/Eigenvalues/RealSchur.h>
#include <Eigen/src/Eigenvalues/SelfAdjointEigenSolver.h>
#include <Eigen/src/Eigenvalues/Tridiagonalization.h>

#include <Eigen/src/Core/util/ReenableStupidWarnings.h>
#endif

#include <algorithm>
#include <complex>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

namespace sla::detail {

/// Errors: value_error, always: of a B whose inner product (x, B y) is none.
template <class... How>
[[noreturn]] void throw_not_definite(How const&... how) {
  throw value_error(text("eigsh(A, B, k, ...): B is not positive definite: ", how..., "; of a definite A and an indefinite B the problem B v = (1/w) A v is one"));
}
/// The scalars of small algebra for vectors of T, and its matrices.
template <class T>
using small_scalar = std::conditional_t<is_complex<T>, std::complex<double>, double>;
template <class W>
using small_dense = Eigen::Matrix<W, Eigen::Dynamic, Eigen::Dynamic>;
/// Their real values, and complex vectors. All types here depend on W, or Eigen's were compiled by who reads this and has no eigenvalues.
template <class W>
using small_values = Eigen::Matrix<real_t<W>, Eigen::Dynamic, 1>;
template <class W>
using small_complex = std::complex<real_t<W>>;

/// A B. Where they are small it is done here: threads, which Eigen's products ask for, would wait for each other longer than it takes.
template <class W>
small_dense<W> dense_product(small_dense<W> const& A, small_dense<W> const& B) {
  if (A.rows() > 128) return A * B;
  small_dense<W> out = small_dense<W>::Zero(A.rows(), B.cols());
  for (index_t j = 0; j < B.cols(); ++j)
    for (index_t k = 0; k < A.cols(); ++k) out.col(j) += B(k, j) * A.col(k);
  return out;
}
/// A^H B.
template <class W>
small_dense<W> dense_adjoint_product(small_dense<W> const& A, small_dense<W> const& B) {
  return dense_product<W>(A.adjoint(), B);
}
/// X becomes Q X, where Q is the product of the reflectors that Eigen's tridiagonal and Hessenberg forms keep below their diagonals: its own sequences of
/// reflectors are compiled for blocks of them, which takes longer than all else here.
template <class W, class C>
void apply_reflectors(small_dense<W> const& packed, C const& coefficients, small_dense<W>& X) {
  for (index_t i = packed.rows() - 2; i >= 0; --i) {
    index_t const below = packed.rows() - i - 2;
    auto const v = packed.col(i).tail(below);
    for (index_t c = 0; c < X.cols(); ++c) {
      auto x = X.col(c).tail(below);
      W const s = Eigen::numext::conj(coefficients(i)) * (X(i + 1, c) + v.dot(x));
      X(i + 1, c) -= s;
      x -= s * v;
    }
  }
}
/// The greatest |entry|, or 1 where there is none to divide by.
template <class W>
double scale_of(small_dense<W> const& A) {
  double most = 0;
  for (index_t i = 0; i < A.size(); ++i) most = (std::max)(most, std::abs(A.data()[i]));
  return most > 0 && most < std::numeric_limits<double>::infinity() ? most : 1;
}
/// What is no more than rounding beside A.
template <class W>
double rounding_of(small_dense<W> const& A) {
  return (std::max)(std::numeric_limits<double>::epsilon() * scale_of(A), (std::numeric_limits<double>::min)());
}

/// Eigenvalues of a Hermitian matrix, ascending, and orthonormal eigenvectors.
template <class W>
struct hermitian_pairs {
  small_values<W> values;
  small_dense<W> vectors;
  bool is_found = true;
};
/// Those of S, of which the lower triangle is read. Only the tridiagonal form is made in complex numbers, where S has such.
template <class W>
hermitian_pairs<W> eigenpairs_of(small_dense<W> const& S) {
  double const scale = scale_of(S);
  Eigen::Tridiagonalization<small_dense<W>> const form(S / scale);
  Eigen::SelfAdjointEigenSolver<small_dense<real_t<W>>> solver(S.rows());
  solver.computeFromTridiagonal(small_values<W>(form.diagonal()), small_values<W>(form.subDiagonal()), Eigen::ComputeEigenvectors);
  hermitian_pairs<W> out{scale * solver.eigenvalues(), solver.eigenvectors().template cast<W>(), solver.info() == Eigen::Success};
  apply_reflectors<W>(form.packedMatrix(), form.householderCoefficients(), out.vectors);
  return out;
}

/// H = Q T Q^H with a triangular T, or of a real H one with blocks of two on its diagonal; false, if it is not found.
template <class W>
bool schur_form(small_dense<W> const& H, small_dense<W>& T, small_dense<W>& Q) {
  index_t const n = H.rows();
  double const scale = scale_of(H);
  Eigen::HessenbergDecomposition<small_dense<W>> const form(H / scale);
  Q = small_dense<W>::Identity(n, n);
  apply_reflectors<W>(form.packedMatrix(), form.householderCoefficients(), Q);
  std::conditional_t<is_complex<W>, Eigen::ComplexSchur<small_dense<W>>, Eigen::RealSchur<small_dense<W>>> schur(n);
  schur.setMaxIterations(100 * (std::max)(index_t(1), n));
  schur.computeFromHessenberg(small_dense<W>(form.matrixH()), Q, true);
  if (schur.info() != Eigen::Success) return false;
  T = scale * schur.matrixT(), Q = schur.matrixU();
  return true;
}
/// How many rows the block of T has that begins at i.
template <class W>
index_t block_at(small_dense<W> const& T, index_t i) {
  return i + 1 < T.rows() && T(i + 1, i) != W(0) ? 2 : 1;
}
/// The values of the block that begins at i.
template <class W>
std::vector<small_complex<W>> values_of_block(small_dense<W> const& T, index_t i) {
  using Z = small_complex<W>;
  if (block_at(T, i) == 1) return {Z(T(i, i))};
  Z const half = Z(T(i, i) + T(i + 1, i + 1)) / 2.0, apart = Z(T(i, i) - T(i + 1, i + 1)) / 2.0;
  Z const root = std::sqrt(apart * apart + Z(T(i, i + 1) * T(i + 1, i)));
  return {half + root, half - root};
}
/// The eigenvector of length 1 of the value w in the block of T that begins at `begin`, by substitution from there up. As in LAPACK's trevc, a value
/// that is w again, or nearly, is taken to be a little beside it.
template <class W>
small_dense<small_complex<W>> eigenvector_of_schur(small_dense<W> const& T, index_t begin, small_complex<W> w) {
  using Z = small_complex<W>;
  double const least = rounding_of(T);
  auto const away = [&](Z d) { return std::abs(d) < least ? Z(least) : d; };
  small_dense<Z> x = small_dense<Z>::Zero(T.rows(), 1);
  index_t end = begin + block_at(T, begin);
  if (end == begin + 1) {
    x(begin) = 1;
  } else {
    Z const a = w - T(begin, begin), b = w - T(begin + 1, begin + 1);
    bool const first = std::abs(a) + std::abs(T(begin, begin + 1)) >= std::abs(b) + std::abs(T(begin + 1, begin));
    x(begin) = first ? Z(T(begin, begin + 1)) : b, x(begin + 1) = first ? a : Z(T(begin + 1, begin));
  }
  for (index_t i = begin - 1; i >= 0; --i) {
    bool const pair = i > 0 && T(i, i - 1) != W(0);
    if (pair) --i;
    Z r[2] = {};
    for (index_t p = 0; p < (pair ? 2 : 1); ++p)
      for (index_t k = i + (pair ? 2 : 1); k < end; ++k) r[p] += T(i + p, k) * x(k);
    Z const a = w - T(i, i);
    if (pair) {
      Z const b = w - T(i + 1, i + 1), upper = T(i, i + 1), lower = T(i + 1, i);
      double const size = std::abs(a) + std::abs(b) + std::abs(upper) + std::abs(lower);
      Z const det = away((a * b - upper * lower) / size);
      x(i) = (b / size * r[0] + upper / size * r[1]) / det;
      x(i + 1) = (a / size * r[1] + lower / size * r[0]) / det;
    } else {
      x(i) = r[0] / away(a);
    }
    double const most = (std::max)(std::abs(x(i)), std::abs(x(i + (pair ? 1 : 0))));
    if (most > 1e100) x /= most;
  }
  return x / x.norm();
}

/// B = U diag(values) V^H of a B with at least as many rows as columns, values descending, columns of U and V orthonormal.
template <class W>
struct dense_triplets {
  small_values<W> values;
  small_dense<W> U, V;
};
/// By Jacobi's rotations from the right until the columns are orthogonal: Hestenes, Inversion of matrices by biorthogonalization and related results (1958);
/// Golub and Van Loan, Matrix Computations, 8.6.3.
template <class W>
dense_triplets<W> dense_triplets_of(small_dense<W> const& B) {
  index_t const m = B.rows(), n = B.cols();
  double const scale = scale_of(B);
  small_dense<W> A = B / scale, V = small_dense<W>::Identity(n, n);
  double const nothing = std::numeric_limits<double>::epsilon() * A.norm();  // columns no longer than this are rounding
  auto const rotate = [](small_dense<W>& M, index_t p, index_t q, W phase, double c, double s) {
    for (index_t i = 0; i < M.rows(); ++i) {
      W const x = M(i, p), y = Eigen::numext::conj(phase) * M(i, q);
      M(i, p) = c * x - s * y, M(i, q) = s * x + c * y;
    }
  };
  bool again = n > 1;
  for (int sweep = 0; again && sweep < 60; ++sweep) {
    again = false;
    for (index_t p = 0; p < n; ++p)
      for (index_t q = p + 1; q < n; ++q) {
        W const g = A.col(p).dot(A.col(q));
        double const a = A.col(p).norm(), b = A.col(q).norm(), size = std::abs(g);
        if (a <= nothing || b <= nothing || !(size > 4 * std::numeric_limits<double>::epsilon() * a * b)) continue;
        double const zeta = (b - a) * (b + a) / (2 * size), t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::hypot(1.0, zeta)), c = 1 / std::hypot(1.0, t);
        again = true;
        rotate(A, p, q, g / size, c, c * t), rotate(V, p, q, g / size, c, c * t);
      }
  }
  std::vector<std::pair<real_t<W>, index_t>> order;
  for (index_t j = 0; j < n; ++j) order.emplace_back(-A.col(j).norm(), j);
  std::stable_sort(order.begin(), order.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
  dense_triplets<W> out{small_values<W>(n), small_dense<W>(m, n), small_dense<W>(n, n)};
  index_t axis = 0;
  for (index_t j = 0; j < n; ++j) {
    auto const [less, from] = order[std::size_t(j)];
    out.values(j) = -less * scale, out.V.col(j) = V.col(from), out.U.col(j) = A.col(from);
    double length = -less > nothing ? -less : 0;
    while (length == 0 && axis < m) {  // of a value 0 any vector beside the others: some axis leaves one
      out.U.col(j).setZero(), out.U(axis++, j) = W(1);
      for (int twice = 0; twice < 2; ++twice)
        for (index_t i = 0; i < j; ++i) out.U.col(j) -= out.U.col(i).dot(out.U.col(j)) * out.U.col(i);
      length = out.U.col(j).norm();
      if (length < 1e-3 / std::sqrt(double(m))) length = 0;
    }
    out.U.col(j) /= W(length);
  }
  return out;
}

/// X of A X = B for a few unknowns, by elimination with complete pivots; those below `least` are taken for it.
template <class W>
small_dense<W> solved(small_dense<W> A, small_dense<W> B, double least = 0) {
  index_t const n = A.rows();
  std::vector<index_t> unknown(static_cast<std::size_t>(n));
  for (index_t j = 0; j < n; ++j) unknown[std::size_t(j)] = j;
  for (index_t s = 0; s < n; ++s) {
    index_t row = s, col = s;
    for (index_t j = s; j < n; ++j)
      for (index_t i = s; i < n; ++i)
        if (std::abs(A(i, j)) > std::abs(A(row, col))) row = i, col = j;
    A.row(s).swap(A.row(row)), B.row(s).swap(B.row(row)), A.col(s).swap(A.col(col));
    std::swap(unknown[std::size_t(s)], unknown[std::size_t(col)]);
    if (std::abs(A(s, s)) < least) A(s, s) = W(least);
    for (index_t i = s + 1; i < n; ++i) {
      W const f = A(i, s) / A(s, s);
      A.row(i) -= f * A.row(s), B.row(i) -= f * B.row(s);
    }
  }
  small_dense<W> X(n, B.cols());
  for (index_t s = n - 1; s >= 0; --s) {
    for (index_t j = s + 1; j < n; ++j) B.row(s) -= A(s, j) * B.row(j);
    B.row(s) /= A(s, s);
    X.row(unknown[std::size_t(s)]) = B.row(s);
  }
  return X;
}
/// R with R G R^H = I, the inverse of the Cholesky factor L of a Hermitian G; none, if some diagonal entry of L is not > least.
template <class W>
std::optional<small_dense<W>> inverse_cholesky(small_dense<W> const& G, double least = 0) {
  index_t const n = G.rows();
  small_dense<W> L = G, R = small_dense<W>::Identity(n, n);
  for (index_t j = 0; j < n; ++j) {
    double const d = std::sqrt(std::real(L(j, j)));
    if (!(d > least && d < std::numeric_limits<double>::infinity())) return std::nullopt;
    L(j, j) = d;
    L.col(j).tail(n - j - 1) /= W(d);
    for (index_t k = j + 1; k < n; ++k) L.col(k).tail(n - k) -= Eigen::numext::conj(L(k, j)) * L.col(j).tail(n - k);
  }
  for (index_t c = 0; c < n; ++c)
    for (index_t j = c; j < n; ++j) {
      R(j, c) /= L(j, j);
      R.col(c).tail(n - j - 1) -= R(j, c) * L.col(j).tail(n - j - 1);
    }
  return R;
}

} // namespace sla::detail
