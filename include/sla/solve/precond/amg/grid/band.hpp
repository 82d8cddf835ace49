// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The coarsest grid, solved: the LDL^T factors of its band, in double (Golub and Van Loan, Matrix Computations, section 4.3). Of a singular
// matrix, such as that of pure Neumann conditions, the directions that elimination finds empty are left out.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/solve/precond/amg/grid/coarsen.hpp>

namespace sla::detail {

/// Row i of L, from column i - width to i - 1, then the inverse of d_i.
class band_factors {
public:
  band_factors() = default;
  template <class R>
  explicit band_factors(grid_view<R> const& A) : n_(A.shape.points()), width_(A.shape.shift(A.shape.pairs - 1)), rows_(std::size_t(n_ * (width_ + 1)), 0.0) {
    std::vector<double> d(rows_.size() / std::size_t(width_ + 1));
    diagonal_of(A, 0, n_, d.data());
    for (int h = 0; h < A.shape.pairs; ++h)
      for (index_t i = A.shape.shift(h), w = i; i < n_; ++i) row(i)[width_ - w] = double(A.off[h][i - w]);
    for (index_t i = 0; i < n_; ++i) {
      double* const mine = row(i);
      double left = d[std::size_t(i)];
      index_t const first = (std::max)(index_t(0), i - width_);
      for (index_t j = first; j < i; ++j) {  // mine[j] holds l_ij d_j
        double const* const other = row(j);
        double* const at = mine + width_ - i + j;
        double sum = *at;
        for (index_t k = (std::max)(first, j - width_); k < j; ++k) sum -= mine[width_ - i + k] * other[width_ - j + k];
        *at = sum;
      }
      for (index_t j = first; j < i; ++j) {
        double& l = mine[width_ - i + j];
        double const scaled = l * row(j)[width_];
        left -= l * scaled;
        l = scaled;
      }
      mine[width_] = left > 1e-12 * d[std::size_t(i)] ? 1 / left : 0;
      definite_ = definite_ && left > -1e-3 * d[std::size_t(i)];
    }
  }
  /// x = A^-1 b.
  template <class R>
  void solve(R const* b, R* x, std::vector<double>& work) const {
    work.assign(std::size_t(n_), 0.0);
    for (index_t i = 0; i < n_; ++i) {
      double const* const mine = row(i);
      double sum = double(b[i]);
      for (index_t j = (std::max)(index_t(0), i - width_); j < i; ++j) sum -= mine[width_ - i + j] * work[std::size_t(j)];
      work[std::size_t(i)] = sum;
    }
    for (index_t i = 0; i < n_; ++i) work[std::size_t(i)] *= row(i)[width_];
    for (index_t i = n_; i-- > 0;) {
      double const* const mine = row(i);
      double const value = work[std::size_t(i)];
      for (index_t j = (std::max)(index_t(0), i - width_); j < i; ++j) work[std::size_t(j)] -= mine[width_ - i + j] * value;
      x[i] = R(value);
    }
  }
  /// Or semidefinite, up to the rounding of levels in float.
  bool definite() const { return definite_; }
  std::size_t bytes() const { return rows_.size() * sizeof(double); }

private:
  double* row(index_t i) { return rows_.data() + i * (width_ + 1); }
  double const* row(index_t i) const { return rows_.data() + i * (width_ + 1); }

  index_t n_ = 0, width_ = 0;
  bool definite_ = true;
  std::vector<double> rows_;
};

} // namespace sla::detail
