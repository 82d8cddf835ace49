// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The coarsest level of multigrid: a dense inverse, by elimination along the diagonal in its place. Of a singular matrix, such as that
// of pure Neumann conditions, it is the inverse of the largest part that was found regular.
#pragma once

#include <limits>
#include <vector>

#include <sla/core/scalar.hpp>
#include <sla/solve/precond/amg/options.hpp>

namespace sla::detail {

/// Rows that are inverted at once, where coarsening comes to a halt.
inline constexpr index_t amg_most_dense_rows = 1000;

/// G with A G A = A, of n x n numbers, row by row; Hermitian where A is. Cost: 2 n^3. Pivots are taken from the diagonal, the one first
/// that elimination has diminished least; those that are rounding alone are left out, their rows and columns of G zero.
/// Not Eigen's: sla/krylov.hpp reads none of it. Of its factorisations the complete orthogonal one alone gives such a G of singular A, Hermitian too: it takes
/// 1.4 times as long for 200 rows, 0.65 for 800, and 14 s to compile. LDLT takes 0.8 and 0.3 of the time, of regular A. bench/results/dense_inverse.md has the figures.
/// Source: Goodnight, A tutorial on the SWEEP operator (The American Statistician 1979).
template <class K>
void invert_regular_part(std::vector<K>& a, index_t n) {
  using Real = real_t<K>;
  auto at = [&](index_t i, index_t j) -> K& { return a[std::size_t(i * n + j)]; };
  std::vector<Real> before(std::size_t(n), 0);
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) before[std::size_t(i)] = (std::max)(before[std::size_t(i)], Real(abs_of(at(i, j))));
  std::vector<char> done(std::size_t(n), 0);
  Real const least = Real(16 * double(n)) * std::numeric_limits<Real>::epsilon();
  for (index_t step = 0; step < n; ++step) {
    index_t k = -1;
    Real best = least;
    for (index_t i = 0; i < n; ++i) {
      Real const left = before[std::size_t(i)] > 0 ? Real(abs_of(at(i, i))) / before[std::size_t(i)] : 0;
      if (!done[std::size_t(i)] && left > best) best = left, k = i;
    }
    if (k < 0) break;
    done[std::size_t(k)] = 1;
    K const inverse = K(Real(1)) / at(k, k);
    for (index_t j = 0; j < n; ++j) at(k, j) = at(k, j) * inverse;
    for (index_t i = 0; i < n; ++i) {
      K const factor = at(i, k);
      if (i == k || factor == K{}) continue;
      for (index_t j = 0; j < n; ++j) at(i, j) = at(i, j) - factor * at(k, j);
      at(i, k) = -(factor * inverse);
    }
    at(k, k) = inverse;
  }
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j)
      if (!done[std::size_t(i)] || !done[std::size_t(j)]) at(i, j) = K{};
}

/// The inverse of A, as above.
template <class T>
std::vector<kernel_t<T>> dense_inverse(amg_matrix<T> const& A) {
  index_t const n = A.rows();
  std::vector<kernel_t<T>> out(std::size_t(n * n));
  for (index_t i = 0; i < n; ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { out[std::size_t(i * n + j)] = kernel_pointer(A.values().data())[s]; });
  invert_regular_part(out, n);
  return out;
}

/// The same numbers as To.
template <class To, class K>
std::vector<kernel_t<To>> numbers_in(std::vector<K> const& of) {
  std::vector<kernel_t<To>> out;
  for (K const& a : of) out.push_back(scalar_cast<kernel_t<To>>(a));
  return out;
}

} // namespace sla::detail
