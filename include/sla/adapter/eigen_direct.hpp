// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What solve/seam/factorization.hpp declares, by Eigen: SparseLU, SimplicialLLT, SimplicialLDLT; AMD. The only file that includes Eigen's
// solvers. Options, batches, blocks and true residuals are in solve/direct/direct.hpp.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include <sla/solve/seam/factorization.hpp>

namespace sla::detail {

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

template <class T, factorization Kind>
class factors_of_one {
public:
  using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Solver = std::conditional_t<
      Kind == factorization::lu, Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>>,
      std::conditional_t<Kind == factorization::cholesky, Eigen::SimplicialLLT<Matrix>, Eigen::SimplicialLDLT<Matrix>>>;
  Solver solver;
};

template <class T, factorization Kind>
factored factor_one(std::shared_ptr<factors_of_one<T, Kind>>& f, index_t n, factor_index<Kind> const* row_ptr, factor_index<Kind> const* col, T const* values, bool anew) {
  if (!f) f = std::make_shared<factors_of_one<T, Kind>>();
  if (n == 0) return {};  // Eigen's LU divides by the number of rows
  typename factors_of_one<T, Kind>::Matrix const A = Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor, int> const>(n, n, row_ptr[n], row_ptr, col, values);
  if (anew) f->solver.analyzePattern(A);
  f->solver.factorize(A);
  if constexpr (Kind == factorization::lu)  // Eigen reports it as a numerical issue, or not at all
    if (f->solver.lastErrorMessage().find("MEMORY") != std::string::npos) throw std::bad_alloc();
  return {f->solver.info() == Eigen::Success};
}
template <bool Adjoint, class T, factorization Kind>
void solve_one(factors_of_one<T, Kind> const& f, index_t n, T* b) {
  typename factors_of_one<T, Kind>::Column right(n), x;
  std::copy(b, b + n, right.data());
  if constexpr (Kind == factorization::lu && Adjoint)
    x = const_cast<typename factors_of_one<T, Kind>::Solver&>(f.solver).adjoint().solve(right);  // not const in Eigen; it changes nothing
  else
    x = f.solver.solve(right);
  std::copy(x.data(), x.data() + n, b);
}
template <class T, factorization Kind>
std::size_t bytes_of_one(factors_of_one<T, Kind> const& f) {
  if (f.solver.rows() == 0) return 0;
  std::size_t entries = 0;
  if constexpr (Kind == factorization::lu)
    entries = std::size_t(f.solver.nnzL() + f.solver.nnzU());
  else
    entries = std::size_t(f.solver.matrixL().nestedExpression().nonZeros());
  return entries * (sizeof(T) + sizeof(int));
}

template <class Int>
std::vector<index_t> minimum_degree_order(Int n, Int const* row_ptr, Int const* col) {
  if (n == 0) return {};
  std::vector<float> const values(std::size_t(row_ptr[n]), 1.0f);  // it reads the pattern
  Eigen::SparseMatrix<float, Eigen::ColMajor, Int> graph = Eigen::Map<Eigen::SparseMatrix<float, Eigen::ColMajor, Int> const>(n, n, row_ptr[n], row_ptr, col, values.data());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, Int> order;
  Eigen::AMDOrdering<Int>()(graph, order);
  return {order.indices().data(), order.indices().data() + n};
}
} // namespace sla::detail
