// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigen's matrices and ours, both ways: `as_eigen` and `borrow_eigen` do not copy, `from_eigen` does.
// Eigen's direct solvers are in adapter/eigen_direct.hpp.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/SparseCore>

#include <sla/core/small_matrix.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// A as Eigen sees it, not copied; A keeps its entries. Law: one matrix without batch and blocks, in Csr with one index
/// type.
///     Eigen::VectorXd y = as_eigen(A) * as_eigen(x);
template <class T, class S, class Col, class Ptr>
Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor, Col> const> as_eigen(sparse_tensor<T, S, Csr<Col, Ptr>> const& A) {
  static_assert(!S::is_batched && !S::is_blocked,
                "sla: as_eigen(A) wants one matrix with scalar entries: take batch_item(A, k) or unblocked(A)");
  static_assert(std::same_as<Col, Ptr>,
                "sla: Eigen has one index type for columns and positions: as_eigen(to<Csr<Ptr>>(A))");
  auto const& pattern = A.pattern();
  return {A.rows(), A.cols(), A.nnz(), pattern.row_ptr.data(), pattern.col.data(), A.values().data()};
}
template <class T, class S, class F>
void as_eigen(sparse_tensor<T, S, F>&&) = delete; // the tensor would be gone before it is read

/// A vector, or a row-major matrix, as Eigen sees it, not copied.
template <class T, class E>
auto as_eigen(tensor<T, E> const& x) {
  static_assert(E::rank == 1 || E::rank == 2, "sla: as_eigen(x) wants a vector or a matrix");
  if constexpr (E::rank == 1)
    return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1> const>(x.data(), x.size());
  else
    return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const>(x.data(), x.extent(0),
                                                                                               x.extent(1));
}
/// The same, to write to: `as_eigen(x) = solver.solve(as_eigen(b));`
template <class T, class E>
auto as_eigen(tensor<T, E>& x) {
  static_assert(E::rank == 1 || E::rank == 2, "sla: as_eigen(x) wants a vector or a matrix");
  if constexpr (E::rank == 1)
    return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(x.data(), x.size());
  else
    return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(x.data(), x.extent(0),
                                                                                         x.extent(1));
}
template <class T, class E>
void as_eigen(tensor<T, E>&&) = delete; // the tensor would be gone before it is read

/// A small matrix of `gram` or for `combine`, as Eigen sees it, not copied: of constant size.
///     as_eigen(C) = Eigen::LLT<...>(as_eigen(G)).matrixL();
template <class T, int Rows, int Cols>
auto as_eigen(small_matrix<T, Rows, Cols>& C) {
  return Eigen::Map<Eigen::Matrix<user_t<T>, Rows, Cols, Cols == 1 ? Eigen::ColMajor : Eigen::RowMajor>>(reinterpret_cast<user_t<T>*>(&C[0]));
}
template <class T, int Rows, int Cols>
auto as_eigen(small_matrix<T, Rows, Cols> const& C) {
  return Eigen::Map<Eigen::Matrix<user_t<T>, Rows, Cols, Cols == 1 ? Eigen::ColMajor : Eigen::RowMajor> const>(reinterpret_cast<user_t<T> const*>(&C[0]));
}
template <class T, int Rows, int Cols>
void as_eigen(small_matrix<T, Rows, Cols> const&&) = delete; // the matrix would be gone before it is read

namespace detail {
/// Eigen's arrays as Csr of `rows` rows, which are its columns where it is column-major.
template <class E>
auto borrow_outer(E& matrix, index_t rows, index_t cols, char const* name) {
  if (!matrix.isCompressed())
    throw value_error(text(name, ": the matrix is not compressed: call makeCompressed() on it, or copy it with from_eigen"));
  return borrow_csr(rows, cols, matrix.nonZeros(), matrix.outerIndexPtr(), matrix.innerIndexPtr(), matrix.valuePtr());
}
} // namespace detail

/// A row-major Eigen matrix, or a map of one, as a tensor, not copied: the matrix outlives the tensor and all that
/// share its pattern. A const matrix is not written. Errors: the matrix is not compressed.
template <class E>
auto borrow_eigen(E& matrix) {
  static_assert(E::IsRowMajor, "sla: borrow_eigen wants a row-major matrix, which is our Csr; of a column-major one borrow_eigen_transpose(A) is A^T, and "
                               "from_eigen(A) a copy");
  return detail::borrow_outer(matrix, matrix.rows(), matrix.cols(), "borrow_eigen");
}
template <class E>
void borrow_eigen(E const&& matrix) = delete; // the matrix would be gone before it is read

/// The transpose A^T of a column-major Eigen matrix (Eigen's default), not copied: its columns are the rows of the tensor. A * x is then
///     auto At = borrow_eigen_transpose(A);   vector<double> y = transpose(At) * x;   // a symmetric A is At itself
/// Lifetimes and errors: those of borrow_eigen.
template <class E>
auto borrow_eigen_transpose(E& matrix) {
  static_assert(!E::IsRowMajor, "sla: borrow_eigen_transpose wants a column-major matrix; a row-major one is transpose(borrow_eigen(A))");
  return detail::borrow_outer(matrix, matrix.cols(), matrix.rows(), "borrow_eigen_transpose");
}
template <class E>
void borrow_eigen_transpose(E const&& matrix) = delete; // the matrix would be gone before it is read

/// A copy of an Eigen sparse matrix of either order, compressed or not, with its rows sorted.
template <class E>
auto from_eigen(Eigen::SparseMatrixBase<E> const& expression) {
  using T = typename E::Scalar;
  using Index = typename E::StorageIndex;
  Eigen::SparseMatrix<T, Eigen::RowMajor, Index> matrix = expression;
  matrix.makeCompressed();
  return sorted(borrow_eigen(matrix));
}

/// A copy of an Eigen vector or matrix.
template <class E>
auto from_eigen(Eigen::MatrixBase<E> const& expression) {
  using T = typename E::Scalar;
  if constexpr (E::ColsAtCompileTime == 1) {
    vector<T> x(expression.rows());
    as_eigen(x) = expression;
    return x;
  } else {
    matrix<T> x({expression.rows(), expression.cols()});
    as_eigen(x) = expression;
    return x;
  }
}

} // namespace sla
