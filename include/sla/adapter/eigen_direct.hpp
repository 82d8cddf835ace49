// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigen's sparse factorisations of one matrix in CSR arrays: SparseLU, SimplicialLLT, SimplicialLDLT; AMD. The only file that
// includes Eigen's solvers. Options, batches, blocks and true residuals are in solve/direct.hpp.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#include <cstddef>
#include <new>
#include <string>
#include <vector>

#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

namespace sla {

/// How a direct solver takes a matrix apart: P A Q = L U, P A P^T = L L^H, P A P^T = L D L^H.
enum class factorization { lu, cholesky, ldlt };

/// What factors would take: the entries of L, and the multiplications that give them.
struct factor_cost {
  double entries = 0, operations = 0;
};

namespace detail {
/// The cost of L L^T for the pattern of A + A^T in its minimum degree order, from the elimination tree, without factors: of
/// LDL^T it is the cost, of LU with few exchanges of rows about half. It stops counting beyond `most` operations.
/// Cost: that of the ordering, and one step per entry of L. Source: Davis, Direct Methods for Sparse Linear Systems, chapter 4.
template <class T>
factor_cost cost_of_factors(index_t n, int const* row_ptr, int const* col, T const* values, double most) {
  using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;
  factor_cost out;
  if (n == 0) return out;
  Matrix const A = Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor, int> const>(n, n, row_ptr[n], row_ptr, col, values);
  Eigen::AMDOrdering<int>::PermutationType order;
  Eigen::AMDOrdering<int>()(A, order);
  auto const rows = std::size_t(n);
  std::vector<int> place(rows), parent(rows, -1), seen(rows, -1), below(rows, 0);
  for (int k = 0; k < int(n); ++k) place[std::size_t(order.indices()[k])] = k;
  for (int k = 0; k < int(n) && out.operations <= most; ++k) {
    seen[std::size_t(k)] = k;
    auto climb = [&](int j) {  // from an entry of row k along the tree: every node on the way has an entry in row k of L
      for (auto at = std::size_t(j); j < k && seen[at] != k; j = parent[at], at = std::size_t(j)) {
        if (parent[at] < 0) parent[at] = k;
        seen[at] = k;
        out.entries += 1;
        out.operations += ++below[at];
      }
    };
    int const i = order.indices()[k];
    for (int s = row_ptr[i]; s < row_ptr[i + 1]; ++s) climb(place[std::size_t(col[s])]);
    for (typename Matrix::InnerIterator it(A, i); it; ++it) climb(place[std::size_t(it.row())]);
  }
  return out;
}

/// The factors of one square matrix; T is double or std::complex<double>. The ordering is kept for new values.
template <class T, factorization Kind>
class eigen_factors {
  using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Solver = std::conditional_t<
      Kind == factorization::lu, Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>>,
      std::conditional_t<Kind == factorization::cholesky, Eigen::SimplicialLLT<Matrix>, Eigen::SimplicialLDLT<Matrix>>>;

public:
  /// False, if a pivot vanished (or was not positive: cholesky). `anew`: the pattern is not that of the last call.
  bool factor(index_t n, int const* row_ptr, int const* col, T const* values, bool anew) {
    if (n == 0) return true;  // Eigen's LU divides by the number of rows
    Matrix const A = Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor, int> const>(n, n, row_ptr[n], row_ptr, col, values);
    if (anew) solver_.analyzePattern(A);
    solver_.factorize(A);
    if constexpr (Kind == factorization::lu)  // Eigen reports it as a numerical issue, or not at all
      if (solver_.lastErrorMessage().find("MEMORY") != std::string::npos) throw std::bad_alloc();
    return solver_.info() == Eigen::Success;
  }

  /// x = A^-1 b, or A^-H b, for n x rhs numbers: b by at.get(i, k), x by at.put(i, k, value).
  template <bool Adjoint, class At>
  void solve(index_t n, index_t rhs, At const& at) const {
    if (n == 0) return;
    Column b(n), x(n);  // one by one: Eigen's kernels for several columns double the time to compile
    for (index_t k = 0; k < rhs; ++k) {
      for (index_t i = 0; i < n; ++i) b[i] = at.get(i, k);
      if constexpr (Kind == factorization::lu && Adjoint)
        x = const_cast<Solver&>(solver_).adjoint().solve(b);  // not const in Eigen; it changes nothing
      else
        x = solver_.solve(b);
      for (index_t i = 0; i < n; ++i) at.put(i, k, x[i]);
    }
  }

  std::size_t bytes() const {
    if (solver_.rows() == 0) return 0;
    std::size_t entries = 0;
    if constexpr (Kind == factorization::lu)
      entries = std::size_t(solver_.nnzL() + solver_.nnzU());
    else
      entries = std::size_t(solver_.matrixL().nestedExpression().nonZeros());
    return entries * (sizeof(T) + sizeof(int));
  }

private:
  Solver solver_;
};

/// The approximate minimum degree order of a graph in CSR arrays: number k is the row that comes k-th.
template <class Int>
std::vector<index_t> eigen_amd(Int n, Int const* row_ptr, Int const* col) {
  if (n == 0) return {};
  std::vector<float> const values(std::size_t(row_ptr[n]), 1.0f);  // it reads the pattern
  Eigen::SparseMatrix<float, Eigen::ColMajor, Int> graph = Eigen::Map<Eigen::SparseMatrix<float, Eigen::ColMajor, Int> const>(n, n, row_ptr[n], row_ptr, col, values.data());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, Int> order;
  Eigen::AMDOrdering<Int>()(graph, order);
  return {order.indices().data(), order.indices().data() + n};
}
} // namespace detail

} // namespace sla
