// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What solve/seam/factorization.hpp declares, by Eigen: SparseLU, SimplicialLLT, SimplicialLDLT; AMD; dense LU and LLT of what is nearly full.
// The only file that includes these. Options, batches, blocks and true residuals are in solve/direct/direct.hpp.
#pragma once

#ifndef EIGEN_CORE_H
#define EIGEN_NO_CUDA // nvcc compiles our kernels, not Eigen's: without this it warns about each of them
#endif
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#if EIGEN_VERSION_AT_LEAST(3, 4, 90) // its headers are read by modules alone
#include <Eigen/Cholesky>
#include <Eigen/LU>
#else // the modules read other decompositions too
#include <Eigen/src/Core/util/DisableStupidWarnings.h>
#include <Eigen/src/Cholesky/LLT.h>
#include <Eigen/src/LU/PartialPivLU.h>

#include <Eigen/src/Core/util/ReenableStupidWarnings.h>
#endif

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <optional>
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
  using ordering = Eigen::AMDOrdering<dependent_t<int, T>>;
  typename ordering::PermutationType order;
  ordering()(A, order);
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

/// Eigen's Cholesky factors, which tell where they ended: the diagonal of a column of L that was not reached has the row -1.
template <class Matrix>
class ending_llt : public Eigen::SimplicialLLT<Matrix> {
public:
  void factorize(Matrix const& A) {
    for (Eigen::Index k = 0; k < A.cols(); ++k) *diagonal_row(k) = -1;
    Eigen::SimplicialLLT<Matrix>::factorize(A);
  }
  /// The last pivot that was looked at.
  Eigen::Index ending() const {
    Eigen::Index k = 0;
    while (k + 1 < this->m_matrix.cols() && *diagonal_row(k + 1) >= 0) ++k;
    return k;
  }

private:
  int* diagonal_row(Eigen::Index k) const { return const_cast<int*>(this->m_matrix.innerIndexPtr()) + this->m_matrix.outerIndexPtr()[k]; }
};
template <class T, factorization Kind>
class factors_of_one {
public:
  using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, int>;
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Square = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Solver = std::conditional_t<
      Kind == factorization::lu, Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>>,
      std::conditional_t<Kind == factorization::cholesky, ending_llt<Matrix>, Eigen::SimplicialLDLT<Matrix>>>;
  Solver solver;
  std::optional<std::conditional_t<Kind == factorization::lu, Eigen::PartialPivLU<Square>, Eigen::LLT<Square>>> dense;  ///< in its place, where most entries are stored

  index_t rows() const { return index_t(dense ? dense->rows() : solver.rows()); }
};

template <class T, factorization Kind>
factored factor_one(std::shared_ptr<factors_of_one<T, Kind>>& f, index_t n, factor_index<Kind> const* row_ptr, factor_index<Kind> const* col, T const* values, bool anew) {
  if (!f) f = std::make_shared<factors_of_one<T, Kind>>();
  if (n == 0) return {};  // Eigen's LU divides by the number of rows
  Eigen::Map<Eigen::SparseMatrix<T, Eigen::RowMajor, int> const> const by_rows(n, n, row_ptr[n], row_ptr, col, values);
  if (is_nearly_full(n, row_ptr[n])) {
    f = std::make_shared<factors_of_one<T, Kind>>();  // without sparse ones of older values
    f->dense.emplace(typename factors_of_one<T, Kind>::Square(by_rows));
    if constexpr (Kind == factorization::lu)
      return {(f->dense->matrixLU().diagonal().array().abs() >= (std::numeric_limits<double>::min)()).all()};
    else if (f->dense->info() == Eigen::Success)
      return {};
  }
  f->dense.reset();  // of any sign: without exchanges Eigen has no dense LDL^H; and sparse factors tell the row of a pivot that is not positive
  typename factors_of_one<T, Kind>::Matrix const A = by_rows;
  if (anew || f->solver.rows() == 0) f->solver.analyzePattern(A);
  f->solver.factorize(A);
  if constexpr (Kind == factorization::lu)  // Eigen reports it as a numerical issue, or not at all
    if (f->solver.lastErrorMessage().find("MEMORY") != std::string::npos) throw std::bad_alloc();
  if (f->solver.info() == Eigen::Success) return {};
  if constexpr (Kind == factorization::lu) {
    return {false};
  } else {
    index_t pivot = 0;
    if constexpr (Kind == factorization::cholesky) {
      pivot = f->solver.ending();
    } else {
      auto const d = f->solver.vectorD();
      while (pivot + 1 < n && d[pivot] != T(0)) ++pivot;
    }
    return {false, f->solver.permutationPinv().indices()[pivot]};
  }
}
template <bool Adjoint, class T, factorization Kind>
void solve_one(factors_of_one<T, Kind> const& f, index_t n, T* b) {
  typename factors_of_one<T, Kind>::Column right(n), x;
  std::copy(b, b + n, right.data());
  if (f.dense) {
    if constexpr (Kind == factorization::lu && Adjoint)
      x = f.dense->adjoint().solve(right);
    else
      x = f.dense->solve(right);
  } else if constexpr (Kind == factorization::lu && Adjoint)
    x = const_cast<typename factors_of_one<T, Kind>::Solver&>(f.solver).adjoint().solve(right);  // not const in Eigen; it changes nothing
  else
    x = f.solver.solve(right);
  std::copy(x.data(), x.data() + n, b);
}
template <class T, factorization Kind>
std::size_t bytes_of_one(factors_of_one<T, Kind> const& f) {
  if (f.dense) return std::size_t(f.rows() * f.rows()) * sizeof(T);
  if (f.rows() == 0) return 0;
  std::size_t entries = 0;
  if constexpr (Kind == factorization::lu)
    entries = std::size_t(f.solver.nnzL() + f.solver.nnzU());
  else
    entries = std::size_t(f.solver.matrixL().nestedExpression().nonZeros());
  return entries * (sizeof(T) + sizeof(int));
}

/// Is a permutation a product of an odd number of exchanges? Each cycle of even length is.
template <class Permutation>
bool is_odd(Permutation const& order) {
  std::vector<bool> seen(std::size_t(order.size()));
  bool odd = false;
  for (Eigen::Index start = 0; start < order.size(); ++start)
    for (Eigen::Index i = order.indices()[start]; !seen[std::size_t(start)] && i != start; i = order.indices()[i]) seen[std::size_t(i)] = true, odd = !odd;
  return odd;
}
template <class T, factorization Kind>
pivots<T> pivots_of_one(factors_of_one<T, Kind> const& f) {
  pivots<T> out;
  auto const n = f.rows();
  if (n == 0) return out;
  if (f.dense) {
    if constexpr (Kind == factorization::lu) {
      for (index_t j = 0; j < n; ++j) out.values.push_back(f.dense->matrixLU()(j, j));
      out.odd = is_odd(f.dense->permutationP());
    } else {
      for (index_t j = 0; j < n; ++j) out.values.push_back(f.dense->matrixLLT()(j, j) * f.dense->matrixLLT()(j, j));
    }
  } else if constexpr (Kind == factorization::lu) {
    auto const upper = f.solver.matrixU();
    auto const& blocks = upper.m_mapL;
    for (int j = 0; j < int(n); ++j) {
      auto const start = blocks.supToCol()[blocks.colToSup()[j]];
      out.values.push_back(blocks.valuePtr()[blocks.colIndexPtr()[j] + j - start]);
    }
    out.odd = is_odd(f.solver.rowsPermutation()) != is_odd(f.solver.colsPermutation());  // Eigen's own sign counts exchanges of other rows
  } else if constexpr (Kind == factorization::ldlt) {
    auto const d = f.solver.vectorD();
    out.values.assign(d.data(), d.data() + n);
  } else {
    auto const& L = f.solver.matrixL().nestedExpression();
    for (int j = 0; j < int(n); ++j) {
      T const root = L.valuePtr()[L.outerIndexPtr()[j]];
      out.values.push_back(root * root);
    }
  }
  return out;
}

/// The supernodes of SparseLU; its rows of U begin anywhere in a block, and reach to its end.
template <class T, class Solver>
factor_blocks<T> blocks_of_lu(Solver const& solver) {
  factor_blocks<T> out;
  auto const n = int(solver.rows());
  auto const upper = solver.matrixU();
  auto const& L = upper.m_mapL;
  auto const& U = upper.m_mapU;
  int const count = int(L.nsuper()) + 1;
  std::vector<std::vector<int>> right(static_cast<std::size_t>(count));
  for (int j = 0; j < n; ++j)
    for (int s = U.outerIndexPtr()[j]; s < U.outerIndexPtr()[j + 1]; ++s) {
      auto& cols = right[std::size_t(L.colToSup()[U.innerIndexPtr()[s]])];
      if (cols.empty() || cols.back() != j) cols.push_back(j);
    }
  std::vector<int> order;
  for (int k = 0; k < count; ++k) {
    int const j = L.supToCol()[k], w = L.supToCol()[k + 1] - j;
    order.assign(L.rowIndex() + L.rowIndexPtr()[j] + w, L.rowIndex() + L.rowIndexPtr()[j + 1]);
    std::sort(order.begin(), order.end());
    out.append(w, order, right[std::size_t(k)]);
  }
  out.allocate();
  std::vector<int> place(static_cast<std::size_t>(n));
  for (int k = 0; k < count; ++k) {
    int const f = out.first[std::size_t(k)], w = out.first[std::size_t(k) + 1] - f;
    auto const below = out.rows_begin[std::size_t(k)], r = out.rows_begin[std::size_t(k) + 1] - below;
    for (std::ptrdiff_t a = 0; a < r; ++a) place[std::size_t(out.rows[std::size_t(below + a)])] = int(a);
    for (int c = 0; c < w; ++c) {
      T const* const values = L.valuePtr() + L.colIndexPtr()[f + c];
      std::copy(values, values + w, &out.diagonal[std::size_t(out.diagonal_begin[std::size_t(k)] + c * w)]);
      for (std::ptrdiff_t a = 0; a < r; ++a)
        out.lower[std::size_t(out.lower_begin[std::size_t(k)] + c * r + place[std::size_t(L.rowIndex()[L.rowIndexPtr()[f] + w + a])])] = values[w + a];
    }
  }
  std::vector<std::ptrdiff_t> next(out.upper_begin.begin(), out.upper_begin.end() - 1);  // the column that is filled, of each block
  std::vector<int> at(std::size_t(count), -1);
  for (int j = 0; j < n; ++j)
    for (int s = U.outerIndexPtr()[j]; s < U.outerIndexPtr()[j + 1]; ++s) {
      int const i = U.innerIndexPtr()[s];
      auto const k = std::size_t(L.colToSup()[i]);
      int const w = out.first[k + 1] - out.first[k];
      if (at[k] >= 0 && at[k] != j) next[k] += w;
      at[k] = j;
      out.upper[std::size_t(next[k] + i - out.first[k])] = U.valuePtr()[s];
    }
  out.row_place.assign(solver.rowsPermutation().indices().data(), solver.rowsPermutation().indices().data() + n);
  out.col_place.assign(solver.colsPermutation().indices().data(), solver.colsPermutation().indices().data() + n);
  return out;
}
/// Columns of L that follow each other and have the same rows below, of L L^H or L D L^H.
template <class T, factorization Kind, class Solver>
factor_blocks<T> blocks_of_hermitian(Solver const& solver) {
  factor_blocks<T> out;
  auto const n = int(solver.rows());
  auto const& L = solver.matrixL().nestedExpression();
  constexpr int skip = Kind == factorization::cholesky;  // the diagonal is the first of a column, or is elsewhere
  auto const begin = [&](int j) { return L.innerIndexPtr() + L.outerIndexPtr()[j] + skip; };
  auto const end = [&](int j) { return L.innerIndexPtr() + L.outerIndexPtr()[j + 1]; };
  for (int j = 0, last = 0; j < n; j = last + 1) {
    for (last = j; last + 1 < n && begin(last) != end(last) && *begin(last) == last + 1 && end(last) - begin(last) == end(last + 1) - begin(last + 1) + 1;) ++last;
    std::vector<int> const below(begin(last), end(last));
    out.append(last - j + 1, below, {});
  }
  out.hermitian = true;
  out.allocate();
  for (std::size_t k = 0; k < std::size_t(out.count()); ++k) {
    int const f = out.first[k], w = out.first[k + 1] - f;
    auto const r = out.rows_begin[k + 1] - out.rows_begin[k];
    T *const d = out.diagonal.data() + out.diagonal_begin[k], *const lower = out.lower.data() + out.lower_begin[k];
    for (int c = 0; c < w; ++c) {
      T const* const values = L.valuePtr() + L.outerIndexPtr()[f + c];
      T pivot, scale = T(1);
      if constexpr (skip)
        pivot = values[0] * values[0], scale = T(1) / values[0];
      else
        pivot = solver.vectorD()[f + c];
      d[c * w + c] = pivot;
      for (int a = c + 1; a < w; ++a) d[c * w + a] = scale * values[skip + a - c - 1];
      for (std::ptrdiff_t a = 0; a < r; ++a) lower[c * r + a] = scale * values[skip + w - c - 1 + a];
    }
  }
  if (solver.permutationP().size() == n)
    out.row_place.assign(solver.permutationP().indices().data(), solver.permutationP().indices().data() + n);
  else
    for (int i = 0; i < n; ++i) out.row_place.push_back(i);
  out.col_place = out.row_place;
  return out;
}
/// One block.
template <class T, factorization Kind, class Dense>
factor_blocks<T> blocks_of_dense(Dense const& dense) {
  factor_blocks<T> out;
  auto const n = int(dense.rows());
  out.append(n, {}, {});
  out.hermitian = Kind != factorization::lu;
  for (int i = 0; i < n; ++i) out.row_place.push_back(i);
  out.col_place = out.row_place;
  if constexpr (Kind == factorization::lu) {
    out.row_place.assign(dense.permutationP().indices().data(), dense.permutationP().indices().data() + n);
    out.diagonal.assign(dense.matrixLU().data(), dense.matrixLU().data() + std::ptrdiff_t(n) * n);
  } else {
    out.allocate();
    auto const& L = dense.matrixLLT();
    for (int j = 0; j < n; ++j) {
      T* const d = out.diagonal.data() + std::ptrdiff_t(j) * n;
      d[j] = L(j, j) * L(j, j);
      for (int i = j + 1; i < n; ++i) d[i] = L(i, j) / L(j, j);
    }
  }
  return out;
}
template <class T, factorization Kind>
factor_blocks<T> blocks_of_one(factors_of_one<T, Kind> const& f) {
  if (f.rows() == 0) return {};
  if (f.dense) return blocks_of_dense<T, Kind>(*f.dense);
  if constexpr (Kind == factorization::lu)
    return blocks_of_lu<T>(f.solver);
  else
    return blocks_of_hermitian<T, Kind>(f.solver);
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
