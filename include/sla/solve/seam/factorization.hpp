// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What direct solvers want of a library of factorisations: the factors of one matrix in CSR arrays, what they would take, and an
// order of its rows. Who makes them is in solve/direct/factors.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <sla/core/shape.hpp>

namespace sla {

/// How a direct solver takes a matrix apart: P A Q = L U, P A P^T = L L^H, P A P^T = L D L^H. The last two are L L^H and L U by
/// the libraries of these names, which adapter/suitesparse.hpp brings.
enum class factorization { lu, cholesky, ldlt, cholmod, umfpack };

/// What factors would take: the entries of L, and the multiplications that give them.
struct factor_cost {
  double entries = 0, operations = 0;
};

namespace detail {
/// Is at least every second of n x n entries stored? Then dense factors take a fourth to a fifteenth of the time of sparse ones.
constexpr bool is_nearly_full(index_t n, index_t entries) { return n >= 32 && 2 * double(entries) >= double(n) * double(n); }
/// The cost of L L^T for the pattern of A + A^T in its minimum degree order, from the elimination tree, without factors: of
/// LDL^T it is the cost, of LU with few exchanges of rows about half. It stops counting beyond `most` operations.
/// Cost: that of the ordering, and one step per entry of L. Source: Davis, Direct Methods for Sparse Linear Systems, chapter 4.
template <class T>
factor_cost cost_of_factors(index_t n, int const* row_ptr, int const* col, T const* values, double most);

/// What became of factors: are they done, or did a pivot vanish (or was not positive: cholesky)? Then of which row of the matrix,
/// where that is known.
struct factored {
  bool done = true;
  index_t row = -1;
};
constexpr char const* name_of(factorization kind) {
  constexpr char const* names[] = {"lu", "cholesky", "ldlt", "cholmod", "umfpack"};
  return names[int(kind)];
}
constexpr bool is_cholesky(factorization kind) { return kind == factorization::cholesky || kind == factorization::cholmod; }
constexpr bool is_hermitian(factorization kind) { return is_cholesky(kind) || kind == factorization::ldlt; }
/// The index type of the matrices that are factored.
template <factorization Kind>
using factor_index = std::conditional_t<Kind == factorization::cholmod || Kind == factorization::umfpack, std::int64_t, int>;

/// The factors of one square matrix; T is double or std::complex<double>. Only who makes them knows what is in it.
template <class T, factorization Kind>
class factors_of_one;
/// Makes f where it is null. The ordering is kept for new values: `anew` says that the pattern is not that of the last call.
template <class T, factorization Kind>
factored factor_one(std::shared_ptr<factors_of_one<T, Kind>>& f, index_t n, factor_index<Kind> const* row_ptr, factor_index<Kind> const* col, T const* values, bool anew);
/// A^-1 b, or A^-H b, in the place of b. Several threads may call it at once.
template <bool Adjoint, class T, factorization Kind>
void solve_one(factors_of_one<T, Kind> const& f, index_t n, T* b);
template <class T, factorization Kind>
std::size_t bytes_of_one(factors_of_one<T, Kind> const& f);

/// The determinant as a product: that of the pivots, negative where rows and columns together were exchanged an odd number of times.
template <class T>
struct pivots {
  std::vector<T> values;
  bool odd = false;
};
template <class T, factorization Kind>
pivots<T> pivots_of_one(factors_of_one<T, Kind> const& f);

/// The factors by blocks: the columns first[k] .. first[k + 1] of L, whose rows below them are the same for all, and these rows of U, with the
/// columns right of them. Row i of A is row row_place[i] of P A Q, column j is column col_place[j]. L has a unit diagonal.
template <class T>
struct factor_blocks {
  std::vector<int> row_place, col_place, first{0};
  std::vector<int> rows, cols;                        ///< sorted; those of block k begin at rows_begin[k], cols_begin[k]
  std::vector<std::ptrdiff_t> rows_begin{0}, cols_begin{0};
  std::vector<std::ptrdiff_t> diagonal_begin{0}, lower_begin{0}, upper_begin{0};
  std::vector<T> diagonal, lower, upper;              ///< column-major: w x w, L below its diagonal and U the rest; rows x w of L; w x cols of U
  bool hermitian = false;                             ///< U = D L^H: it is D on the diagonal, and not stored elsewhere

  int count() const { return int(first.size()) - 1; }
  /// A block of w columns with these rows below and columns to the right begins, of zeros.
  void append(int w, std::vector<int> const& below, std::vector<int> const& right) {
    first.push_back(first.back() + w);
    rows.insert(rows.end(), below.begin(), below.end()), rows_begin.push_back(std::ptrdiff_t(rows.size()));
    cols.insert(cols.end(), right.begin(), right.end()), cols_begin.push_back(std::ptrdiff_t(cols.size()));
    auto const add = [&](std::vector<std::ptrdiff_t>& begin, std::size_t size) { begin.push_back(begin.back() + w * std::ptrdiff_t(size)); };
    add(diagonal_begin, std::size_t(w)), add(lower_begin, below.size()), add(upper_begin, right.size());
  }
  /// All blocks are there: makes room for their values.
  void allocate() {
    diagonal.resize(std::size_t(diagonal_begin.back()));
    lower.resize(std::size_t(lower_begin.back()));
    upper.resize(std::size_t(upper_begin.back()));
  }
};
template <class T, factorization Kind>
factor_blocks<T> blocks_of_one(factors_of_one<T, Kind> const& f);

/// The approximate minimum degree order of a graph in CSR arrays: number k is the row that comes k-th.
template <class Int>
std::vector<index_t> minimum_degree_order(Int n, Int const* row_ptr, Int const* col);
} // namespace detail

} // namespace sla
